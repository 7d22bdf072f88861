import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { gatewayOver, onPort } from '../test/helpers/gateway.ts';
import { startPagedTrail } from '../test/helpers/paged-trail.ts';
import { toTable } from './results.ts';

// The CPU time of commands that do little: the built package, and the bundle of the image. What is beyond that of an empty
// script of Node is loading. Exits with 1 if a command needs more than its limit beyond it.

const RUNS = 9;
const ROOT = new URL('..', import.meta.url);
const EVENTS = 50;
/** Milliseconds beyond an empty script, on a machine of which that needs 40. */
const LIMITS = { '--version': 30, '--help': 30, 'audit --gateway': 150, audit: 340 } as const;
const EMPTY_MS = 40;

execFileSync('npm', ['run', '--silent', 'build'], { cwd: ROOT });
await using trail = await startPagedTrail('newest-first', EVENTS);
await using server = await onPort(gatewayOver(trail.url));
const environment = { KEYTRAIL_TOKEN: 'token', PATH: process.env['PATH'] ?? '' };

/** Milliseconds of CPU time, the median of some runs. `times` of a shell has those of its children in its second line. */
async function measure(
  args: readonly string[],
  settings: Readonly<Record<string, string>> = {},
): Promise<number> {
  const script = '"$@" > /dev/null || exit 1; times';
  const runs: number[] = [];
  while (runs.length < RUNS) {
    const command = ['-c', script, 'sh', process.execPath, ...args];
    const env = { ...environment, ...settings };
    const { stdout: times } = await promisify(execFile)('sh', command, { env });
    const parts = [...(times.split('\n')[1] ?? '').matchAll(/(\d+)m([\d.]+)s/g)];
    runs.push(parts.reduce((sum, [, m, s]) => sum + 60_000 * Number(m) + 1000 * Number(s), 0));
  }
  return runs.toSorted((a, b) => a - b)[Math.floor(RUNS / 2)] ?? Number.NaN;
}

const empty = await measure(['-e', '0']);
const rows = [['an empty script', '', Math.round(empty), '']];
let isSlow = false;
for (const folder of ['dist/keytrail/dist', 'dist/image']) {
  const main = new URL(`${folder}/main.js`, ROOT).pathname;
  for (const [name, limit] of Object.entries(LIMITS)) {
    const args = name === 'audit --gateway' ? ['audit', '--gateway', server.url] : [name];
    const settings = name === 'audit' ? { UPSTREAM_URL: trail.url } : {};
    const own = await measure([main, ...args], settings);
    const allowed = (limit / EMPTY_MS) * empty;
    rows.push([name, folder, Math.round(own), Math.round(empty + allowed)]);
    isSlow ||= own - empty > allowed;
  }
}
process.stdout.write(`${toTable([['command', 'of', 'CPU ms', 'limit'], ...rows])}\n`);
process.exitCode = isSlow ? 1 : 0;
