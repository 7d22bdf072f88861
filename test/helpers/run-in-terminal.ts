import { readFileSync } from 'node:fs';
import { openOutput } from '../../src/terminal/output.ts';
import { keytrailInProcess, STATUS, type TerminalRun } from './process.ts';

/** Runs commands one after the other, with the streams of this process and without pauses: see `runInTerminal`. */
const [file = ''] = process.argv.slice(2);
const runs: readonly TerminalRun[] = JSON.parse(readFileSync(file, 'utf8'));
const { stderr, stdout } = process;
for (const { args, environment, stdin } of runs) {
  const streams = { stderr, stdout, openOutput: () => openOutput(stdout) };
  const own = { ...streams, pause: async () => {} };
  await using command = keytrailInProcess(args, environment, stdin, {}, own);
  stdout.write(`${STATUS}${await command.status}\n`);
}
