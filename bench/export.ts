import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { AuditDocument } from '../src/client/operations.generated.ts';
import { startPagedTrail } from '../test/helpers/paged-trail.ts';
import { PEER_CORE, pinThisProcess, start } from './processes.ts';
import { toTable } from './results.ts';

// `keytrail audit` exports 100,000 events on pages of 100, by a gateway in its process. Compares its CPU time with that of
// a gateway and curl that read the same pages, and measures its memory. Exits with 1 if it needs more than 1.5 times the
// CPU time, or if its memory grows by more than a quarter in the second half.

const EVENTS = Number(process.env['EVENTS'] ?? 100_000);
const MAX_RATIO = 1.5;
const MAX_GROWTH = 1.25;
const ROOT = new URL('..', import.meta.url);
const MAIN = new URL('dist/keytrail/dist/main.js', ROOT).pathname;

execFileSync('npm', ['run', '--silent', 'build'], { cwd: ROOT });
pinThisProcess();
await using trail = await startPagedTrail('newest-first', EVENTS);
const folder = mkdtempSync(join(tmpdir(), 'keytrail-bench-'));
const environment = { UPSTREAM_URL: trail.url, KEYTRAIL_TOKEN: 'token', LOGIN_RATE_LIMIT: '0' };

/** The export: CPU time in microseconds, and the memory that it had after each tenth of a second, in bytes. */
async function measureExport(args: readonly string[]) {
  const file = openSync(join(folder, 'trail.ndjson'), 'w');
  const command = { file: process.execPath, args: [MAIN, 'audit', ...args], environment };
  await using running = start(command, PEER_CORE, file);
  const closed = once(running.child, 'exit');
  const memory: number[] = [];
  let cpu = 0;
  while ((await Promise.race([closed, wait(100)])) === undefined) {
    cpu = running.cpuMicros();
    memory.push(running.rssBytes());
  }
  closeSync(file);
  const lines = readFileSync(join(folder, 'trail.ndjson'), 'utf8').split('\n').length - 1;
  if (lines !== EVENTS) throw new Error(`${lines} events were written`);
  return { cpu, memory };
}

/** A gateway, and curl for each of the same pages: CPU time in microseconds. */
async function measureGateway(): Promise<number> {
  const args = [MAIN, 'serve', '--port', '0', '--node-env', 'production'];
  await using gateway = start({ file: process.execPath, args, environment }, PEER_CORE);
  const [line] = await once(gateway.stdout, 'data');
  const { url } = JSON.parse(String(line).split('\n')[0] ?? '');
  let curls = 0;
  let after: string | null = null;
  for (let isMore = true; isMore; ) {
    const variables = { first: 1000, after, withRaw: true };
    const body = JSON.stringify({ query: AuditDocument.toString(), variables });
    writeFileSync(join(folder, 'body.json'), body);
    const script = `TIMEFORMAT='%U %S'; time curl -s '${url}' -H 'authorization: Bearer token' -H 'content-type: application/json' -o '${folder}/page.json' -d '@${folder}/body.json'`;
    const { stderr } = await promisify(execFile)('bash', ['-c', script]);
    const [user = 0, system = 0] = stderr.trim().split(' ').map(Number);
    curls += (user + system) * 1e6;
    const { data } = JSON.parse(readFileSync(join(folder, 'page.json'), 'utf8'));
    after = data.audit.pageInfo.endCursor;
    isMore = data.audit.pageInfo.hasNextPage;
  }
  return gateway.cpuMicros() + curls;
}

const rows: string[][] = [];
let isMissed = false;
for (const [name, args] of [
  ['audit --limit all', ['--limit', 'all']],
  ['audit --checkpoint', ['--checkpoint', join(folder, 'checkpoint.json')]],
] as const) {
  const baseline = await measureGateway();
  const { cpu, memory } = await measureExport(args);
  const half = Math.floor(memory.length / 2);
  const [early, late] = [Math.max(...memory.slice(0, half)), Math.max(...memory.slice(half))];
  isMissed ||= cpu > MAX_RATIO * baseline || late > MAX_GROWTH * early;
  rows.push([
    name,
    ...[cpu, baseline].map((micros) => `${(micros / 1e6).toFixed(1)} s`),
    (cpu / baseline).toFixed(2),
    ...[early, late].map((bytes) => `${Math.round(bytes / 2 ** 20)} MB`),
  ]);
}
rmSync(folder, { recursive: true });
const head = [
  'command',
  'CPU',
  'CPU of gateway and curl',
  'ratio',
  'RSS, first half',
  'second half',
];
process.stdout.write(toTable([head, ...rows]));
process.exitCode = isMissed ? 1 : 0;
