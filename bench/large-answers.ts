/**
 * What `audit(first: 50)` costs over trails of growing length, in CPU of the gateway's process: as a window, of which
 * no more is read than it holds, and with `totalCount`, for which the whole answer is read.
 *
 *     node bench/large-answers.ts
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createGateway } from '../src/library/gateway.ts';

const LENGTHS = [100, 1000, 10_000, 20_000, 100_000] as const;
const ROUNDS = 5;

const NODES = 'nodes { id occurredAt action outcome actor { id name } target { id } }';
const QUERIES = {
  window: `query ($n: String!) { audit(first: 50, parameters: [{name: "n", value: $n}]) { ${NODES} pageInfo { hasNextPage endCursor } } }`,
  totalCount: `query ($n: String!) { audit(first: 50, parameters: [{name: "n", value: $n}]) { ${NODES} totalCount } }`,
} as const;

type Kind = keyof typeof QUERIES;

if (process.argv[2] === 'service') await serve();
else await measure();

/** A service that has every trail at hand, in a process of its own. */
async function serve(): Promise<void> {
  const trails = new Map(LENGTHS.map((length) => [String(length), trail(length)]));
  const server = createServer((request, response) => {
    const body = trails.get(
      new URL(request.url ?? '', 'http://service').searchParams.get('n') ?? '',
    );
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': body?.length ?? 0,
    });
    response.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.once('disconnect', () => process.exit());
  process.send?.(Object(server.address()).port);
}

/** About 300 bytes a record. */
function trail(length: number): Buffer {
  const records = Array.from({ length }, (_, index) => ({
    id: `evt_${index}`,
    occurred_at: new Date(1_700_000_000_000 - index * 1000).toISOString(),
    action: 'api_key.delete',
    outcome: 'success',
    actor: { id: `user-${index % 100}`, name: `ann.${index % 100}@example.com`, type: 'user' },
    target: { id: `key-${index}`, type: 'api_key' },
    ip_address: '192.0.2.17',
    user_agent: 'Mozilla/5.0 (X11; Linux x86_64)',
  }));
  return Buffer.from(JSON.stringify({ events: records }));
}

async function measure(): Promise<void> {
  const service = fork(fileURLToPath(import.meta.url), ['service']);
  const [port] = await once(service, 'message');
  {
    await using gateway = createGateway({ upstream: { url: `http://127.0.0.1:${port}` } });
    const cases = LENGTHS.flatMap((length) =>
      (['window', 'totalCount'] as const).map((kind) => ({ length, kind, cpu: [] as number[] })),
    );
    const run = async (kind: Kind, length: number): Promise<void> => {
      const response = await gateway.fetch('http://gateway/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
        body: JSON.stringify({ query: QUERIES[kind], variables: { n: String(length) } }),
      });
      const text = await response.text();
      if (response.status === 503) {
        await sleep(100); // answers of 30 MB hold the event loop up, and it sheds load
        return run(kind, length);
      }
      const { data } = JSON.parse(text);
      if (data.audit.nodes.length !== 50) throw new Error('the answer is wrong');
    };
    /** CPU of one request in milliseconds, of so many one after the other. */
    const cost = async (kind: Kind, length: number, requests: number) => {
      const before = process.cpuUsage();
      for (let sent = 0; sent < requests; sent += 1) await run(kind, length);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1000 / requests;
    };

    for (let round = -1; round < ROUNDS; round += 1) {
      for (const { kind, length, cpu } of cases) {
        const isLong = kind === 'totalCount' && length > 1000;
        const ms = await cost(kind, length, isLong ? Math.ceil(200_000 / length) : 200);
        if (round >= 0) cpu.push(ms); // the first one warms up
      }
    }
    print(cases);
  }
  service.disconnect();
}

function print(cases: readonly { length: number; kind: Kind; cpu: readonly number[] }[]): void {
  const cell = (length: number, kind: Kind) => {
    const sorted = cases
      .filter((one) => one.length === length && one.kind === kind)
      .flatMap(({ cpu }) => cpu)
      .sort((a, b) => a - b);
    const [least = Number.NaN, median = Number.NaN] = [sorted[0], sorted[sorted.length >> 1]];
    return `${median.toFixed(2)} (${least.toFixed(2)})`.padStart(18);
  };
  process.stdout.write(
    `CPU ms a request, median (least) of ${ROUNDS} rounds\n\n${'records'.padStart(8)}${'window'.padStart(18)}${'with totalCount'.padStart(18)}\n`,
  );
  for (const length of LENGTHS) {
    process.stdout.write(
      `${String(length).padStart(8)}${cell(length, 'window')}${cell(length, 'totalCount')}\n`,
    );
  }
}
