import { mkdtempSync, openSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { encodeCheckpoint } from '../src/gateway/tail/checkpoint.ts';
import { readMemoryLimit, readPeakBytes, resetPeak } from './image.ts';
import { keytrail, ROOT } from './peers.ts';
import { PEER_CORE, pinThisProcess, type Running, start, startService } from './processes.ts';
import { formatMegabytes, toTable } from './results.ts';

// One request at every bound of what a client controls, against a trail of 20,000 records, unless it says otherwise.
// Measures how long the event loop was blocked, the CPU time, how much the memory grew and its peak. Exits with 1 if a
// request is above the targets, or the peak above the memory of the container.

const MAX_TICK_MS = 250;
const MAX_GROWTH_BYTES = 100e6;
const TIMES = 3;
const METRICS_PORT = '19464';

type Case = {
  readonly name: string;
  readonly query?: string;
  readonly variables?: object;
  /** Bytes to send instead of a query. */
  readonly raw?: string;
  /** The trail that the token names, see stub.ts. Default: 20,000 records. */
  readonly token?: string;
  /** The contract. Default: none. */
  readonly contract?: object;
  /** Subscribes instead, and disconnects after this number of seconds. */
  readonly streamSeconds?: number;
  /** Number of copies that are sent at once, by different tokens. The memory is that of one. */
  readonly copies?: number;
};

const aliases = (count: number, field: (index: number) => string) =>
  Array.from({ length: count }, (_, index) => `a${index}: ${field(index)}`).join(' ');
const repeat = (count: number, text: string) => Array(count).fill(text).join(' ');
const FIELDS = 'id occurredAt action outcome ipAddress userAgent actor { identifier name type }';
const long = (length: number) => 'x'.repeat(length);

const CASES: readonly Case[] = [
  { name: 'nothing: 10 records', query: '{ audit(first: 10) { nodes { id } } }' },
  { name: 'head: 16 KB of headers', raw: headers(15_000) },
  {
    name: 'body: 64 KB of JSON members',
    raw: post(`{"query":"{__typename}","variables":{${members(6000)}}}`),
  },
  {
    name: 'body: 64 KB of nested JSON',
    raw: post(
      `{"query":"{__typename}","variables":{"a":${'['.repeat(32_000)}${']'.repeat(32_000)}}}`,
    ),
  },
  {
    name: 'document: 2,000 tokens in 50 aliases',
    query: `{ audit(first: 1000) { ${aliases(50, () => 'totalCount')} nodes { ${repeat(440, 'id')} } } }`,
  },
  { name: 'document: 64 KB of syntax errors', query: '{'.repeat(60_000) },
  {
    name: 'document: 500 unknown fields',
    query: `{ ${Array.from({ length: 900 }, (_, at) => `f${at}`).join(' ')} }`,
  },
  {
    name: 'document: 1,000 nodes with 48 aliases of fields',
    query: `{ audit(first: 1000) { nodes { ${aliases(48, (at) => ['occurredAt', 'outcome', 'action'][at % 3] ?? '')} } } }`,
  },
  {
    name: 'document: ten root fields of 1,000 nodes with 45 fields',
    query: `{ ${aliases(10, (at) => `audit(first: ${1000 - at}) { nodes { ${FIELDS} ${aliases(3, () => 'occurredAt')} } edges { cursor node { ${FIELDS} ${FIELDS} } } }`)} }`,
  },
  {
    name: 'document: 1,000 raw records in 4 aliases',
    query: `{ audit(first: 1000) { nodes { ${aliases(4, () => 'raw')} } } }`,
  },
  {
    name: 'document: 40 aliases of the whole response',
    query: `{ audit { ${aliases(40, () => 'raw')} } }`,
  },
  { name: 'document: one whole response', query: '{ audit { raw } }' },
  {
    name: 'pointer: 64 tokens, 1,000 records, 4 aliases',
    query: `query ($p: String) { audit(first: 1000) { nodes { ${aliases(4, () => 'raw(pointer: $p)')} } } }`,
    variables: { p: '/a'.repeat(64) },
  },
  {
    name: 'pointer: existing, 1,000 records, 4 aliases',
    query: `query ($p: String) { audit(first: 1000) { nodes { ${aliases(4, () => 'raw(pointer: $p)')} } } }`,
    variables: { p: '/actor/name' },
  },
  {
    name: 'pointer: 30,000 tokens',
    query: 'query ($p: String) { audit(first: 1000) { nodes { raw(pointer: $p) } } }',
    variables: { p: '/a'.repeat(30_000) },
  },
  {
    name: 'filter.actions: 100 of 500 characters, ten aliases',
    query: `query ($l: [String!]) { ${aliases(10, (at) => `audit(first: ${at + 1}, filter: { actions: $l }) { totalCount }`)} }`,
    variables: { l: Array.from({ length: 100 }, (_, at) => `${at}${long(500)}`) },
  },
  {
    name: 'filter: ten different ones that match nothing',
    query: `{ ${aliases(10, (at) => `audit(filter: { since: "20${20 + at}-01-01T00:00:00Z", until: "2099-01-01T00:00:00Z", actor: "n${at}", target: "x", outcome: SUCCESS }) { totalCount nodes { id } }`)} }`,
  },
  {
    name: 'filter: ten different ones that match all',
    query: `{ ${aliases(10, (at) => `audit(filter: { since: "20${10 + at}-01-01T00:00:00Z", until: "2099-01-01T00:00:00Z" }) { totalCount nodes { id } }`)} }`,
  },
  {
    name: 'parameters: ten different ones (ten pages)',
    query: `{ ${aliases(10, (at) => `audit(parameters: [{ name: "n", value: "${at}" }]) { totalCount }`)} }`,
  },
  {
    name: 'parameters: two different ones (two pages)',
    query: `{ ${aliases(2, (at) => `audit(parameters: [{ name: "n", value: "${at}" }]) { totalCount }`)} }`,
  },
  {
    name: 'parameters: 100 of 600 characters',
    query: 'query ($l: [UpstreamParameter!]) { audit(parameters: $l) { totalCount } }',
    variables: { l: Array(100).fill({ name: 'n', value: long(580) }) },
  },
  {
    name: 'after: a cursor of no item, ten aliases',
    query: `{ ${aliases(10, (at) => `audit(first: ${at + 1}, after: $c$) { totalCount }`)} }`,
  },
  {
    name: 'first: the last page of 1,000',
    query: '{ audit(first: 1000, after: $last$) { nodes { id } } }',
  },
  {
    name: '_entities: 2,000 with a trail each',
    query:
      'query ($r: [_Any!]!) { _entities(representations: $r) { ... on ApiKey { audit(first: 1000) { totalCount } } } }',
    variables: {
      r: Array.from({ length: 1400 }, (_, at) => ({ __typename: 'ApiKey', clientId: `k${at}` })),
    },
  },
  {
    name: '_entities: one with 1,000 events, 20 keys',
    query:
      'query ($r: [_Any!]!) { _entities(representations: $r) { ... on ApiKey { audit(first: 1000) { nodes { id action occurredAt } } } } }',
    variables: {
      r: Array.from({ length: 20 }, (_, at) => ({
        __typename: 'ApiKey',
        clientId: `key_${1000 + at}`,
      })),
    },
  },
  {
    name: '_entities: 3 users with 1,000 events',
    query:
      'query ($r: [_Any!]!) { _entities(representations: $r) { ... on ApiKey { audit(first: 1000) { nodes { id action occurredAt } } } } }',
    variables: {
      r: Array.from({ length: 1200 }, (_, at) => ({
        __typename: 'ApiKey',
        clientId: `usr_${118 + (at % 3)}`,
      })),
    },
  },
];

const TIMES_OF_TRAILS: readonly (readonly [
  name: string,
  token: string,
  occurredAt: object | string,
])[] = [
  ['RFC 3339', '20000-1', '/occurred_at'],
  ['RFC 2822', '20000-rfc2822', '/occurred_at'],
  ['epoch', '20000-epoch', { at: '/occurred_at', as: 'epoch-seconds' }],
  [
    'ISO 8601 with a zone',
    '20000-local',
    { at: '/occurred_at', as: 'iso8601', zone: 'Europe/Berlin' },
  ],
  [
    'pattern with a zone',
    '20000-local',
    { at: '/occurred_at', as: { pattern: 'yyyy-MM-dd HH:mm:ss' }, zone: 'America/New_York' },
  ],
];

const FORGED = encodeCheckpoint({
  known: Array.from({ length: 64 }, (_, at) => `${at}`.padEnd(22, 'x')),
  isWhole: false,
  order: 'oldest-first',
  start: null,
  selection: '',
});

/** 480 fields of an event: 104 events per payload. */
const MANY_FIELDS = `{ ${aliases(48, (at) => ['id', 'action'][at % 2] ?? '')} ${repeat(430, 'id')} }`;
const LONG_AGO = '2000-01-01T00:00:00Z';

/** What {@link CASES} do in time and in streams. */
const MORE: readonly Case[] = [
  ...TIMES_OF_TRAILS.map(([name, token, occurredAt]) => ({
    name: `times: ten conditions that match nothing, ${name}`,
    token,
    contract: { audit: { event: { occurredAt } } },
    query: `{ ${aliases(10, (at) => `audit(filter: { until: "20${10 + at}-01-01T00:00:00Z" }) { totalCount nodes { id } }`)} }`,
  })),
  {
    name: 'times: ten conditions that match all, 100,000 records of 80 bytes',
    token: '100000-compact',
    query: `{ ${aliases(10, (at) => `audit(first: 1, filter: { since: "20${10 + at}-01-01T00:00:00Z" }) { totalCount }`)} }`,
  },
  {
    name: 'stream: first poll with 480 fields of each event',
    query: `subscription { auditEvents(filter: { since: "${LONG_AGO}" }) { nodes ${MANY_FIELDS} checkpoint } }`,
    streamSeconds: 5,
  },
  {
    name: 'stream: first poll with 480 fields, 100,000 records of 80 bytes',
    token: '100000-compact',
    query: `subscription { auditEvents(filter: { since: "${LONG_AGO}" }) { nodes ${MANY_FIELDS} checkpoint } }`,
    streamSeconds: 8,
  },
  {
    name: 'stream: a forged checkpoint',
    query: `subscription { auditEvents(after: "${FORGED}", every: 5) { nodes { id } checkpoint } }`,
    streamSeconds: 5,
  },
  {
    name: 'stream: 100 of them',
    query: 'subscription { auditEvents(every: 5) { nodes { id } checkpoint } }',
    streamSeconds: 20,
    copies: 100,
  },
  {
    name: 'pipelining: 30 responses of 6 MB after a stream',
    raw: `${post(JSON.stringify({ query: 'subscription { auditEvents { checkpoint } }' }), 'accept: text/event-stream\r\n', 'keep-alive')}${post('{"query":"{ audit { raw } }"}', '', 'keep-alive').repeat(30)}`,
    streamSeconds: 5,
  },
];

function members(count: number): string {
  return Array.from({ length: count }, (_, at) => `"k${at}":1`).join();
}

function headers(bytes: number): string {
  return post('{"query":"{__typename}"}', `x-a: ${long(bytes)}\r\n`);
}

function post(body: string, more = '', connection = 'close'): string {
  return `POST /graphql HTTP/1.1\r\nhost: a\r\nconnection: ${connection}\r\n${more}authorization: Bearer 20000-1\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

async function send(port: string, bytes: string): Promise<string> {
  const socket = connect(Number(port), '127.0.0.1').setTimeout(60_000);
  socket.on('timeout', () => socket.destroy());
  socket.write(bytes);
  return text(socket);
}

/** Sends, and disconnects after a number of seconds. With `isRead` it reads meanwhile. */
async function sendFor(port: string, bytes: string, seconds: number, isRead: boolean) {
  const socket = connect(Number(port), '127.0.0.1');
  let received = '';
  if (isRead) socket.on('data', (chunk) => (received = received.slice(0, 1000) + chunk));
  socket.on('error', () => {});
  socket.write(bytes);
  await wait(1000 * seconds);
  socket.destroy();
  return received;
}

async function readLag(): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${METRICS_PORT}/metrics`);
  const metrics = await response.text();
  return Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(metrics)?.[1]) * 1000;
}

async function measureCase(given: Case) {
  const { query, variables, raw, token = '20000-1', contract, streamSeconds, copies = 1 } = given;
  const port = String(20_000 + Math.floor(Math.random() * 8_000));
  const command = peer.command(port, service.url);
  const environment = {
    ...command.environment,
    METRICS_PORT,
    ...(contract && { KEYTRAIL_CONTRACT: writeContract(contract) }),
  };
  await using process: Running = start({ ...command, environment }, PEER_CORE, log);
  const small = post(
    '{"query":"{ audit(first: 10) { nodes { id action } pageInfo { endCursor } } }"}',
  ).replace('20000-', '10-');
  for (;;) {
    const isUp = await send(port, small).then(
      (response) => response.includes('"data"'),
      () => false,
    );
    if (isUp) break;
    await wait(20);
  }
  for (let warmUp = 0; warmUp < 500; warmUp += 1) await send(port, small);
  const accept = streamSeconds === undefined ? '' : 'accept: text/event-stream\r\n';
  const text = JSON.stringify({ query: await withCursors(port, query ?? ''), variables });
  const bytes = (raw ?? post(text, accept)).replaceAll('Bearer 20000-1', `Bearer ${token}`);
  const sendOnce = async () => {
    if (streamSeconds === undefined) return send(port, bytes);
    const isRead = raw === undefined;
    const sending = Array.from({ length: copies }, (_, at) =>
      sendFor(
        port,
        copies > 1 ? bytes.replace('-1\r\n', `-${at}\r\n`) : bytes,
        streamSeconds,
        isRead,
      ),
    );
    return (await Promise.all(sending)).join('').slice(0, 5000);
  };
  await wait(300);
  const cpuBefore = process.cpuMicros();
  const rssBefore = process.rssBytes();
  resetPeak(process.child.pid);
  await readLag();
  // At the second time the document is compiled, at the third it runs on the fast path.
  let response = await sendOnce();
  const growth = (readPeakBytes(process.child.pid) - rssBefore) / copies; // of one request
  const times = streamSeconds === undefined ? TIMES : 1;
  for (let time = 1; time < times; time += 1) response = await sendOnce();
  const tickMs = await readLag();
  const code = /"code":"(\w+)"/.exec(response)?.[1] ?? '';
  return {
    tickMs,
    cpuMs: (process.cpuMicros() - cpuBefore) / 1000 / times / copies,
    growth,
    peak: readPeakBytes(process.child.pid),
    outcome: `${/^HTTP\/1.1 (\d+)/.exec(response)?.[1]} ${code}`,
    bytes: response.length,
  };
}

/** Replaces `$c$` by the cursor of an item that no trail has, `$last$` by that of the 19,000th item. */
async function withCursors(port: string, query: string): Promise<string> {
  if (!query.includes('$c$') && !query.includes('$last$')) return query;
  const cursorOf = async (token: string, first: number, after: string) => {
    const response = await send(
      port,
      post(
        JSON.stringify({ query: `{ audit(first: ${first}${after}) { pageInfo { endCursor } } }` }),
      ).replace('20000-', token),
    );
    return String(/"endCursor":"([^"]+)"/.exec(response)?.[1]);
  };
  if (query.includes('$c$')) {
    const cursor = await cursorOf('10-', 10, '');
    return query.replaceAll('$c$', JSON.stringify(cursor));
  }
  let after = '';
  for (let page = 0; page < 19; page += 1)
    after = `, after: "${await cursorOf('20000-', 1000, after)}"`;
  return query.replaceAll('$last$', after.slice(9));
}

function writeContract(contract: object): string {
  const file = join(folder, 'contract.json');
  writeFileSync(file, JSON.stringify(contract));
  return file;
}

const folder = mkdtempSync(join(tmpdir(), 'keytrail-bounds-'));
const log = openSync('/dev/null', 'w');
pinThisProcess();
await using service = await startService();
const peer = keytrail('keytrail', 'Keytrail', ROOT);
await peer.prepare?.();
const wanted = process.argv.slice(2);
const limit = readMemoryLimit();
const rows: string[][] = [];
let isFailed = false;
for (const each of [...CASES, ...MORE]) {
  if (wanted.length > 0 && !wanted.some((word) => each.name.includes(word))) continue;
  const { tickMs, cpuMs, growth, peak, outcome, bytes } = await measureCase(each);
  const isOver = tickMs > MAX_TICK_MS || growth > MAX_GROWTH_BYTES || !(peak < limit);
  isFailed ||= isOver;
  rows.push([
    each.name,
    outcome,
    String(bytes),
    tickMs.toFixed(0),
    cpuMs.toFixed(0),
    formatMegabytes(growth),
    formatMegabytes(peak),
    isOver ? 'over' : '',
  ]);
  process.stderr.write(`${rows.at(-1)?.join(' | ')}\n`);
}
const HEAD = [
  ...['request', 'outcome', 'bytes', 'longest tick, ms', 'CPU, ms', 'memory, MB', 'peak, MB'],
  '',
];
process.stdout.write(toTable([HEAD, ...rows]));
process.exit(Number(isFailed));
