import { adviseAll } from './advice.ts';
import { judge, measure } from './table.ts';

const { scores, misses } = await measure();
const line = (...cells: readonly (string | number)[]) => {
  const [kind = '', level = '', field = '', ...numbers] = cells.map(String);
  const right = numbers.map((number) => number.padStart(6)).join('');
  process.stdout.write(`${kind.padEnd(7)}${level.padEnd(21)}${field.padEnd(15)}${right}\n`);
};
line('kind', 'level', 'field', 'right', 'wrong', 'of');
for (const { kind, level, field, right, wrong, of } of scores)
  line(kind, level, field, right, wrong, of);
if (process.argv.includes('--misses')) process.stderr.write(`${misses.join('\n')}\n`);

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
