import { measure } from './table.ts';

const scores = await measure((line) => process.stderr.write(`${line}\n`));
for (const { kind, level, field, right, wrong, of } of scores) {
  process.stdout.write(
    `${kind.padEnd(6)} ${level.padEnd(12)} ${field.padEnd(13)} ${String(right).padStart(4)} ${String(wrong).padStart(4)} ${String(of).padStart(4)}\n`,
  );
}
