import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { ask, gatewayOver } from '../test/helpers/gateway.ts';
import { toTable } from './results.ts';

// Responses whose weight is members of objects: the CPU time of one read, as a multiple of that of JSON.parse. Exits with 1
// if it is above the limit and the response was not refused. On a busy machine, garbage collection adds up to a half.

const LIMIT = 2;
/** Numbers beyond 2^53 become texts of their digits; JSON.parse rounds them. */
const LIMIT_LARGE = 3.5;
const RUNS = 4;
const SIZES = [4, 8, 30];

const RECORD =
  '"occurred_at":"2026-01-01T00:00:00Z","action":"user.login","actor":{"id":"u1","name":"Ann"}';
const nameOf = (at: number) =>
  `name_${at.toString(26).replace(/\d/g, (digit) => 'qrstuvwxyz'[Number(digit)] ?? '')}`;
const LONG = '_of_a_member_with_a_long_name';
const VALUES = {
  number: '1',
  text: '"a value"',
  null: 'null',
  'empty object': '{}',
  large: '12345678901234567890',
};

/** Parts of a number of bytes together. */
function partsOf(bytes: number, partAt: (at: number) => string): string {
  const parts: string[] = [];
  for (let [at, size] = [0, 0]; size < bytes; at += 1) {
    const part = partAt(at);
    parts.push(part);
    size += part.length + 1;
  }
  return parts.join();
}

const KINDS: Readonly<Record<string, (bytes: number, end: string, value: string) => string>> = {
  'of one record': (bytes, end, value) =>
    `[{${RECORD},${partsOf(bytes, (at) => `"${nameOf(at)}${end}":${value}`)}}]`,
  'beside the list': (bytes, end, value) =>
    `{"events":[{${RECORD}}],${partsOf(bytes, (at) => `"${nameOf(at)}${end}":${value}`)}}`,
  'of each record, 60 KB': (bytes, end, value) =>
    `[${partsOf(bytes, (id) => `{${RECORD},${partsOf(60_000, (at) => `"${nameOf(5000 * id + at)}${end}":${value}`)}}`)}]`,
  'records by ID': (bytes, end) =>
    `{"events":{${partsOf(bytes, (at) => `"${at}${end}":{${RECORD}}`)}}}`,
};

const CASES = Object.keys(KINDS).flatMap((kind) =>
  ['', LONG].flatMap((end) =>
    Object.keys(VALUES)
      .filter((value) => kind !== 'records by ID' || value === 'number')
      .flatMap((value) => SIZES.map((megabytes) => ({ kind, end, value, megabytes }))),
  ),
);

const toBody = ({ kind, end, value, megabytes }: (typeof CASES)[number]) =>
  Buffer.from(KINDS[kind]?.(megabytes * 1e6, end, VALUES[value as keyof typeof VALUES]) ?? ''); // a key of VALUES

if (process.send !== undefined) {
  process.once('disconnect', () => process.exit());
  let body = Buffer.alloc(0);
  let index = '';
  const server = createServer(({ headers }, response) => {
    const wanted = headers.authorization?.split('-')[1] ?? '';
    const each = CASES[Number(wanted)];
    if (wanted !== index && each !== undefined) body = toBody(each);
    index = wanted;
    response.setHeader('content-length', body.length);
    response.end(body);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.send(`http://127.0.0.1:${(server.address() as AddressInfo).port}`); // it listens on TCP
} else process.exitCode = await measureAll();

async function measureAll(): Promise<number> {
  const service = fork(fileURLToPath(import.meta.url));
  const [url] = await once(service, 'message');
  const rows: string[][] = [];
  for (const [index, each] of CASES.entries()) {
    const text = toBody(each);
    const parse = await cpuOf(() => void JSON.parse(text.toString()));
    const limit = each.value === 'large' ? LIMIT_LARGE : LIMIT;
    const ratios: string[] = [];
    for (const contract of [{}, { audit: { event: { action: '/action' } } }]) {
      await using gateway = gatewayOver(String(url), {
        contract,
        upstream: { maxBytes: 2 ** 25, timeoutMs: 60_000 },
      });
      let refusal: string | undefined;
      const read = await cpuOf(async () => {
        const query = '{ audit(first: 10) { totalCount nodes { id action actor { name } } } }';
        const { errors } = await ask(gateway, query, {}, { token: `t-${index}` });
        refusal = errors?.[0]?.extensions.reason;
      });
      const isOver = read > limit * parse && refusal !== 'TOO_LARGE';
      ratios.push(`${(read / parse).toFixed(2)}${isOver ? ' over' : ''} ${refusal ?? ''}`.trim());
    }
    const names = `${each.kind}, ${each.end === '' ? 'short' : 'long'} names, ${each.value}`;
    rows.push([names, String(each.megabytes), parse.toFixed(0), ...ratios]);
    process.stderr.write(`${rows.at(-1)?.join(' | ')}\n`);
  }
  service.kill();
  const head = ['members', 'MB', 'JSON.parse, ms', 'a read, times', 'with a contract'];
  process.stdout.write(toTable([head, ...rows]));
  return Number(rows.flat().some((cell) => cell.includes(' over')));
}

/** Milliseconds of CPU time, the least of some runs. */
async function cpuOf(work: () => void | Promise<void>): Promise<number> {
  const runs: number[] = [];
  while (runs.length < RUNS) {
    const begun = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(begun);
    runs.push((user + system) / 1000);
  }
  return Math.min(...runs);
}
