import { setTimeout as wait } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { gatewayOver, onPort } from '../helpers/gateway.ts';
import { records } from '../helpers/live-trail.ts';
import { startService } from '../helpers/service.ts';
import { requestEvents } from '../helpers/subscribe.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Megabytes in use after a garbage collection. */
function measure(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

const PAYLOADS = 10_000;

it('a stream needs no more memory after 10,000 payloads than after 1,000, with a slow reader', async () => {
  let newest = 40;
  await using service = await startService(() => {
    newest += 1;
    service.forget();
    return { body: records(...Array.from({ length: 40 }, (_, index) => newest - index)) };
  });
  await using gateway = gatewayOver(service.url, {
    pause: () => new Promise((resume) => setImmediate(resume)),
  });
  await using server = await onPort(gateway);
  const response = await requestEvents({ fetch }, {}, { url: `${server.url}/graphql` });
  let payloads = 0;
  let before = 0;
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    const count = decoder.decode(chunk).match(/event: next/g)?.length ?? 0;
    if (Math.floor(payloads / 500) < Math.floor((payloads + count) / 500)) await wait(5);
    payloads += count;
    if (payloads >= 1000 && before === 0) before = measure();
    if (payloads >= PAYLOADS) break;
  }
  expect(payloads).toBeGreaterThanOrEqual(PAYLOADS);
  expect(measure() - before).toBeLessThan(16); // a payload that is retained takes 20 kB: 180 MB in all
});
