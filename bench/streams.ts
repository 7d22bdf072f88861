import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { buildImage, readMemoryLimit, startImage } from './image.ts';
import { pinThisProcess } from './processes.ts';
import { type Client, createClient } from './resilience/client.ts';
import { formatMegabytes, quantile, toTable } from './results.ts';

// 100 streams on a trail of 20,000 records without pages, 3.4 MB. A record is added every ten seconds. Measures resident
// memory and CPU. Exits with 1 if the memory exceeds 350 MB, its peak that of the container, or a stream misses an event.

const STREAMS = 100; // the default of MAX_SUBSCRIPTIONS
const RECORDS = 20_000;
const ADD_EVERY_MS = 10_000;
const MAX_RSS_BYTES = 350e6;
const { values } = parseArgs({ options: { seconds: { type: 'string', default: '300' } } });
const seconds = Number(values.seconds);

let added = 0;
const record = (number: number) =>
  JSON.stringify({
    id: `r${number}`,
    occurred_at: new Date(Date.UTC(2026, 0) + 1000 * number).toISOString(),
    action: 'key.delete',
    actor: { id: `usr_${number % 100}`, name: 'ada' },
    target: `key_${number}`,
    outcome: 'success',
    ip: '203.0.113.40',
  });
const rest = Array.from({ length: RECORDS }, (_, index) => record(RECORDS - index)).join();
const bodyOf = (count: number) => {
  const newer = Array.from({ length: count }, (_, index) => record(RECORDS + count - index));
  return Buffer.from(`[${[...newer, rest].join()}]`);
};
let body = bodyOf(0);

async function startTrail() {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
    response.end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, close };
}

/** Follows the trail until `over`. Returns the identifiers of the events that it received. */
async function follow(client: Client, number: number, over: AbortSignal) {
  const received: string[] = [];
  const query = 'subscription { auditEvents(every: 10) { nodes { id } checkpoint missed } }';
  const request = {
    id: `stream-${number}`,
    body: JSON.stringify({ query }),
    headers: [
      ...['accept', 'text/event-stream', 'content-type', 'application/json'],
      ...['authorization', `Bearer token-${number}`],
    ],
  };
  try {
    const { body } = await client.send(request, over);
    let text = '';
    for await (const chunk of body) {
      text += chunk;
      const events = text.split('\n\n');
      text = events.pop() ?? '';
      for (const event of events) {
        const [, data] = /^event: next\ndata: (.*)$/.exec(event) ?? [];
        const { nodes, missed } = data === undefined ? {} : JSON.parse(data).data.auditEvents;
        received.push(...(nodes ?? []).map(({ id }: { readonly id: string }) => id));
        if (missed) received.push('missed');
      }
    }
  } catch (error) {
    if (!over.aborted) throw error;
  }
  return received;
}

pinThisProcess();
const trail = await startTrail();
await buildImage();
await using gateway = await startImage(trail.url);

await using client = createClient(gateway.url);
const over = AbortSignal.timeout((seconds + 30) * 1000);
const following = Array.from({ length: STREAMS }, async (_, number) => {
  await wait(number * 100); // polls are spread over the interval
  return follow(client, number, over);
});
await wait(15_000);
const cpuBefore = gateway.cpuMicros();
const begun = performance.now();
const sizes: number[] = [];
while (performance.now() - begun < seconds * 1000) {
  if (
    performance.now() - begun > ADD_EVERY_MS * (added + 1) &&
    seconds * 1000 - (performance.now() - begun) > ADD_EVERY_MS
  ) {
    added += 1;
    body = bodyOf(added);
  }
  await wait(500);
  sizes.push(gateway.rssBytes());
}
const cpu = (gateway.cpuMicros() - cpuBefore) / 1e4 / seconds;
const expected = Array.from({ length: added }, (_, index) => `r${RECORDS + 1 + index}`).join();
const wrong = (await Promise.all(following)).filter((received) => received.join() !== expected);
trail.close();
const peak = gateway.peakBytes();
const max = Math.max(...sizes);
process.stdout.write(
  toTable([
    [
      'streams',
      'seconds',
      'RSS, median',
      'RSS, maximum',
      'peak',
      'CPU',
      'events',
      'streams that missed one',
    ],
    [
      STREAMS,
      seconds,
      `${formatMegabytes(quantile(sizes, 0.5))} MB`,
      `${formatMegabytes(max)} MB`,
      `${formatMegabytes(peak)} MB`,
      `${cpu.toFixed(0)} %`,
      added,
      wrong.length,
    ],
  ]),
);
const isOver = max > MAX_RSS_BYTES || !(peak < readMemoryLimit());
process.exitCode = Number(isOver || wrong.length > 0);
