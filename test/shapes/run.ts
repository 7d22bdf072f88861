import { adviseAll } from './advice.ts';
import { leaveVendorsOut, summarize } from './evaluate.ts';
import { type Score, samplesOf } from './shapes.ts';
import { judge, measure } from './table.ts';

if (process.argv.includes('--evidence')) reportEvidence();
else await reportReadings();

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
