import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { gatewayOver, onPort } from '../helpers/gateway.ts';
import { record } from '../helpers/live-trail.ts';
import { startService } from '../helpers/service.ts';
import { holdPauses, requestEvents, subscribe } from '../helpers/subscribe.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Megabytes in use after a garbage collection. */
function measure(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

/** The same once what is in transit has arrived: the buffers of responses are freed after a garbage collection. */
async function settle(): Promise<number> {
  await wait(200);
  measure();
  await wait(200);
  return measure();
}

const PAYLOADS = 10_000;

/** 16 kB: the buffers of the sockets hold few payloads. */
const note = 'n'.repeat(2 ** 14);

it('a stream needs no more memory after 10,000 payloads than after 1,000, with a slow reader', async () => {
  let newest = 0;
  await using service = await startService(() => {
    newest += 1;
    service.forget();
    return { body: [record(newest, { note }), record(0)] };
  });
  await using gateway = gatewayOver(service.url, {
    pause: () => new Promise((resume) => setImmediate(resume)),
  });
  await using server = await onPort(gateway);
  const query = 'subscription { auditEvents { nodes { raw } checkpoint } }';
  const response = await requestEvents({ fetch }, {}, { url: `${server.url}/graphql`, query });
  let payloads = 0;
  let before = 0;
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    const count = decoder.decode(chunk).match(/event: next/g)?.length ?? 0;
    // 20 polls take 20 ms.
    if (Math.floor(payloads / 10) < Math.floor((payloads + count) / 10)) await wait(30);
    payloads += count;
    if (payloads >= 1000 && before === 0) before = await settle();
    if (payloads >= PAYLOADS) break;
  }
  expect(payloads).toBeGreaterThanOrEqual(PAYLOADS);
  expect((await settle()) - before).toBeLessThan(32); // 10,000 payloads take 160 MB; how much is unread varies
});

it('streams that pause keep digests only, whatever they have read', async () => {
  const list = Array.from({ length: 20_000 }, (_, index) =>
    record(20_000 - index, { note: 'n'.repeat(100) }),
  );
  const body = JSON.stringify(list); // 3.4 MB
  await using service = await startService({ body });
  const pauses = holdPauses();
  await using gateway = gatewayOver(service.url, {
    upstream: { maxBytes: 2 ** 23 },
    pause: pauses.pause,
  });
  await using streams = new AsyncDisposableStack();
  const open = async () => {
    const stream = streams.use(await subscribe(gateway));
    await stream.nextBatch();
    void stream.next().catch(() => {}); // reads on, so that the stream pauses
    await pauses.paused();
  };
  await open();
  const before = await settle();
  for (let count = 0; count < 20; count += 1) await open();
  expect((await settle()) - before).toBeLessThan(20); // the pages of one poll take 10 MB
});
