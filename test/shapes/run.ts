import { MODEL } from '../../src/gateway/inference/choose.ts';
import { countWithout, RULES } from './ablate.ts';
import { adviseAll } from './advice.ts';
import { FOLDS, leaveVendorsOut, readWithModel, summarize } from './evaluate.ts';
import { type Score, samplesOf } from './shapes.ts';
import { measureLines } from './suggested-lines.ts';
import { judge, measure } from './table.ts';

if (process.argv.includes('--evidence')) reportEvidence();
else if (process.argv.includes('--ablate')) await reportRules();
else if (process.argv.includes('--sealed')) reportSealed();
else await reportReadings();

/** Prints what each hand-written rule is worth: values gained and lost by it, of the usual ones in folds by vendor. */
async function reportRules(): Promise<void> {
  const all = await countWithout(null);
  const share = (count: number) => `${((100 * count) / all.of).toFixed(2)} %`;
  process.stdout.write(
    `${share(all.right)} right, ${share(all.wrong)} wrong of ${all.of}. By rule:\n`,
  );
  for (const [index, { rule, file, name }] of RULES.entries()) {
    const { right, wrong } = await countWithout(index);
    const [gained, kept] = [all.right - right, wrong - all.wrong].map(formatChange);
    process.stdout.write(`${gained} right ${kept} wrong without it  ${rule} (${file}, ${name})\n`);
  }
}

function formatChange(count: number): string {
  return `${count > 0 ? '+' : ''}${count}`.padStart(5);
}

/** Prints how the samples are read that no rule and no weight comes from. */
function reportSealed(): void {
  const sealed = samplesOf('sealed');
  const { scores } = readWithModel(sealed);
  printScores('sealed', summarize(scores));
  process.stdout.write(`${new Set(sealed.map(({ vendor }) => vendor)).size} vendors\n`);
}

/** Prints how products are read that the weights have never seen. */
function reportEvidence(): void {
  const { scores, misses } = leaveVendorsOut(samplesOf('audit'), {
    onGroup: (group, groups) => process.stderr.write(`without vendor ${group} of ${groups}\n`),
  });
  printScores('from', summarize(scores));
  printMisses(misses);
}

/** Prints how all samples are read, with and without the advice of `learn`. */
async function reportReadings(): Promise<void> {
  const { scores, misses } = await measure();
  printScores('kind', scores);
  printMisses(misses);
  process.stdout.write(
    '\nIn folds by vendor, with weights that were trained without its vendor:\n',
  );
  const folds = leaveVendorsOut(samplesOf('audit'), { groups: FOLDS, thresholds: [MODEL.certain] });
  printScores('from', summarize(folds.scores));
  printMisses(folds.misses);

  const { nulls, withLine, firstRight, values, wrong } = measureLines();
  process.stdout.write(
    `\nlearn has a line for ${withLine} of ${nulls} nulls whose value the records have. The first one is right for ${firstRight}. Those without "perhaps" make ${wrong} of ${values} values wrong.\n`,
  );

  const advised = await adviseAll();
  const incomplete = advised.filter(({ before }) => before.length > 0);
  const rest = incomplete.filter(({ after }) => after.length > 0);
  process.stdout.write(
    `\nNot read completely: ${incomplete.length} samples; by following the advice of learn: ${rest.length}\n`,
  );
  for (const { name, after } of rest) process.stdout.write(`  ${name}: ${after.join('; ')}\n`);

  const broken = judge(scores);
  for (const rule of broken) process.stderr.write(`Not fulfilled: ${rule}\n`);
  process.exitCode = broken.length === 0 ? 0 : 1;
}

function printScores(title: string, scores: readonly Score[]): void {
  const line = (...cells: readonly (string | number)[]) => {
    const [kind = '', level = '', field = '', ...numbers] = cells.map(String);
    const right = numbers.map((number) => number.padStart(8)).join('');
    process.stdout.write(`${kind.padEnd(7)}${level.padEnd(21)}${field.padEnd(17)}${right}\n`);
  };
  line(title, 'level', 'field', 'right', 'wrong', 'missing', 'of', 'right %', 'wrong %');
  for (const { kind, level, field, right, wrong, of } of scores) {
    const shares = [right, wrong].map((part) => ((100 * part) / of).toFixed(1));
    line(kind, level, field, right, wrong, of - right - wrong, of, ...shares);
  }
}

function printMisses(misses: readonly string[]): void {
  if (process.argv.includes('--misses')) process.stderr.write(`${misses.join('\n')}\n`);
}
