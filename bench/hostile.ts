import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { keytrail, ROOT } from './peers.ts';
import { PEER_CORE, pinThisProcess, start, startService } from './processes.ts';
import { createClient, sendAtRate } from './resilience/client.ts';
import { quantile, toTable } from './results.ts';

// 1,200 hostile connections: half send a part of a body, half never read their responses, and each is opened again once
// Keytrail closes it. Measures the latency of ordinary clients before and meanwhile, and readiness. Exits with 1 if the
// median more than doubles, a request fails or readiness is lost.

const CONNECTIONS = 1200;
const RATE = 100;
const { values } = parseArgs({ options: { seconds: { type: 'string', default: '60' } } });
const seconds = Number(values.seconds);

const SLOW =
  'POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 60000\r\n\r\n{';
const body = JSON.stringify({
  query:
    '{ audit(first: 1000) { a: nodes { raw } b: nodes { raw } c: nodes { raw } d: nodes { raw } } }',
});
const UNREAD = `POST /graphql HTTP/1.1\r\nhost: a\r\nauthorization: Bearer 1000-1\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

pinThisProcess();
await using service = await startService();
const peer = keytrail('keytrail', 'Keytrail', ROOT);
await peer.prepare?.();
const port = String(20_000 + Math.floor(Math.random() * 8_000));
await using gateway = start(peer.command(port, service.url), PEER_CORE);
gateway.stdout.resume();
const origin = `http://127.0.0.1:${port}`;
for (;;) {
  const isReady = await fetch(`${origin}/health/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
  if (isReady) break;
  await wait(20);
}

await using client = createClient(`${origin}/graphql`);
const request = {
  body: JSON.stringify({ query: '{ audit(first: 10) { nodes { id action occurredAt } } }' }),
  headers: ['content-type', 'application/json', 'authorization', 'Bearer 10-1'],
};

/** Sends ordinary requests. Returns their latencies, how many failed, and how often the gateway was not ready. */
async function measure(forSeconds: number) {
  const latencies: number[] = [];
  let failed = 0;
  let notReady = 0;
  const over = AbortSignal.timeout(forSeconds * 1000);
  const checks = (async () => {
    while (!over.aborted) {
      const { ok } = await fetch(`${origin}/health/ready`);
      if (!ok) notReady += 1;
      await wait(500);
    }
  })();
  await sendAtRate(RATE, over, async (number) => {
    const begun = performance.now();
    const { data } = await client.post({ id: `ordinary-${number}`, ...request });
    latencies.push(performance.now() - begun);
    if (data === undefined || data === null) failed += 1;
  });
  await checks;
  return { latencies, failed, notReady };
}

const sockets = new Set<Socket>();
let isOver = false;
let reopened = -CONNECTIONS;

/** Opens a hostile connection, and again whenever it is closed. */
async function attack(bytes: string): Promise<void> {
  while (!isOver) {
    reopened += 1;
    const socket = connect(Number(port), '127.0.0.1');
    sockets.add(socket);
    socket.on('error', () => {});
    socket.pause();
    socket.write(bytes);
    // A paused socket does not notice that it was closed, so it is replaced shortly after it must have been.
    await Promise.race([once(socket, 'close'), wait(1000 + (bytes === SLOW ? 15_000 : 30_000))]);
    socket.destroy();
    sockets.delete(socket);
    await wait(100 * Math.random());
  }
}

await measure(5); // warm-up
const usual = await measure(10);
const attacks = Array.from({ length: CONNECTIONS }, async (_, index) => {
  await wait(index * 5);
  await attack(index % 2 === 0 ? SLOW : UNREAD);
});
await wait(CONNECTIONS * 5 + 5000);
const rssBefore = gateway.rssBytes();
const meanwhile = await measure(seconds);
const rss = Math.max(rssBefore, gateway.rssBytes());
const open = sockets.size;
isOver = true;
for (const socket of sockets) socket.destroy();
await Promise.all(attacks);

const median = ({ latencies }: typeof usual) => quantile(latencies, 0.5);
const row = (name: string, each: typeof usual) => [
  name,
  each.latencies.length,
  median(each).toFixed(2),
  quantile(each.latencies, 0.99).toFixed(2),
  each.failed,
  each.notReady,
];
process.stdout.write(
  `${toTable([
    ['', 'requests', 'median, ms', 'p99, ms', 'failed', 'not ready'],
    row('before', usual),
    row(`with ${open} hostile connections, ${reopened} opened again`, meanwhile),
  ])}\nResident memory: ${(rss / 1e6).toFixed(0)} MB\n`,
);
const isFailed =
  median(meanwhile) > 2 * median(usual) || meanwhile.failed > 0 || meanwhile.notReady > 0;
process.exit(Number(isFailed));
