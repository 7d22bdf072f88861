import type { ServerResponse } from 'node:http';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { parseBearer } from '../../../src/gateway/upstream/bearer.ts';
import { createRestClient } from '../../../src/gateway/upstream/http-client.ts';
import { path } from '../../../src/gateway/upstream/path.ts';
import { NO_TRACE } from '../../../src/gateway/upstream/types.ts';
import type { UpstreamResponse } from '../../../src/util/upstream-response.ts';
import { startService } from '../../helpers/service.ts';

const bodyOf = ({ body }: UpstreamResponse) => body;

it('throws a bug that occurs while it scans a response, instead of UPSTREAM_BAD_RESPONSE', async () => {
  await using service = await startService((_, response) => {
    const body = '['.padEnd(70_000);
    response.writeHead(200, { 'content-length': body.length }).end(body);
    return undefined;
  });
  const url = new URL(service.url);
  const limits = { timeoutMs: 14_000, connections: 1, maxBytes: 1_000_000 };
  await using client = createRestClient({ url, ...limits, now: Date.now });
  const calls = client.of(NO_TRACE).authorized(parseBearer('Bearer t'));
  const bug = new RangeError('This is a bug.');
  const prefix = {
    items: 50,
    get depths(): number[] {
      throw bug;
    },
    isLengthNeeded: true,
    suffices: () => true,
  };
  await expect(calls.get('audit', path`/api/v1/audit`, bodyOf, { prefix })).rejects.toBe(bug);
});

it('parses one large response per iteration of the event loop, though many arrive at once', async () => {
  const TOKENS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
  const body = JSON.stringify([{ note: 'a'.repeat(2 ** 20) }]);
  const arrived: ServerResponse[] = [];
  await using service = await startService((_, response) => {
    if (service.seen.length <= TOKENS.length) return { body: [] };
    response.writeHead(200, { 'content-length': body.length });
    response.write(body.slice(0, -1), () => {
      arrived.push(response);
      if (arrived.length === TOKENS.length) for (const each of arrived) each.end(body.slice(-1));
    });
    return undefined;
  });
  const url = new URL(service.url);
  const limits = { timeoutMs: 14_000, connections: 8, maxBytes: 2 ** 21 };
  await using client = createRestClient({ url, ...limits, now: Date.now });
  const read = (token: string) =>
    client
      .of(NO_TRACE)
      .authorized(parseBearer(`Bearer ${token}`))
      .get('audit', path`/api/v1/audit`, bodyOf);
  for (const token of TOKENS) await read(token); // the service accepts them: each is a caller of its own
  let parsed = 0;
  const responses = TOKENS.map(async (token) => {
    await read(token);
    parsed += 1;
  });
  const steps: number[] = [];
  while (parsed < responses.length) {
    const before = parsed;
    await nextIteration();
    steps.push(parsed - before);
  }
  expect(Math.max(...steps)).toBe(1);
});

it('sends the calls that wait for a connection before it is disposed of', async () => {
  await using service = await startService({ body: [] });
  const client = createRestClient({
    ...{ url: new URL(service.url), timeoutMs: 5000, connections: 1, maxBytes: 1000 },
    now: Date.now,
  });
  const calls = client.of(NO_TRACE).authorized(parseBearer('Bearer t'));
  const responses = [1, 2, 3].map(() => calls.get('audit', path`/api/v1/audit`, bodyOf));
  await client[Symbol.asyncDispose]();
  expect(await Promise.all(responses)).toHaveLength(3);
});
