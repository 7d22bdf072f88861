// `npm start`: runs the command with Node's options and the variable of the image (deploy/Dockerfile says what they do).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { NEEDED_NODE } from './needed-node.mjs';

const OPTIONS = [
  '--disable-sigusr1',
  '--max-semi-space-size=16',
  '--no-allocation-site-pretenuring',
];
const VARIABLES = { MALLOC_MMAP_THRESHOLD_: '131072' };

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const given = process.argv.slice(2);
// Without arguments the command prints its help on a terminal.
const args = [...OPTIONS, main, ...(given.length === 0 ? ['serve'] : given)];
const env = { ...process.env, ...VARIABLES };

if (NEEDED_NODE !== null) {
  process.stderr.write(NEEDED_NODE);
  process.exitCode = 1;
} else if (!existsSync(new URL('../node_modules/graphql', import.meta.url))) {
  // A development dependency: what is built has a copy of it.
  process.stderr.write(
    'Packages are missing: run npm ci. After npm prune --omit=dev, run node dist/image/main.js.\n',
  );
  process.exitCode = 1;
} else if (process.platform === 'win32' || process.execve === undefined) {
  const child = spawn(process.execPath, args, { env, stdio: 'inherit' });
  // Ctrl-C reaches both processes.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'])
    process.on(signal, () => child.kill(signal));
  [process.exitCode] = await once(child, 'exit');
} else {
  // Replaces this process, as `exec` in package.json replaced the shell: signals of npm reach the command.
  process.execve(process.execPath, [process.execPath, ...args], env);
}
