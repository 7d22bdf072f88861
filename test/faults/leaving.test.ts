import { describe, expect, it } from 'vitest';
import { withstand } from '../helpers/bench.ts';
import { CANARY, expectNoCanary } from '../helpers/canary.ts';
import { startProduction } from '../helpers/production.ts';
import { startService } from '../helpers/service.ts';

describe('a caller', () => {
  it('A41: who leaves during an audit leaves no socket at the service after 100 ms', () => {
    const arrived = Promise.withResolvers<void>();
    return withstand(
      () => {
        arrived.resolve();
        return undefined;
      },
      async ({ ask, sockets, logged, url }) => {
        const caller = new AbortController();
        const answer = fetch(url, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            authorization: `Bearer ${CANARY.accessToken}`,
          },
          body: '{"query": "{ audit { totalCount } }"}',
          signal: caller.signal,
        });
        await arrived.promise;
        caller.abort();
        const start = performance.now();
        await expect(answer).rejects.toThrow();
        await expect.poll(sockets, { interval: 5 }).toBe(0);
        expect(performance.now() - start).toBeLessThan(100 * 8);
        await expect.poll(() => logged.join()).toContain('"aborted":true');
        expect((await ask('{ __typename }')).code).toBe('');
      },
      { upstream: { timeoutMs: 60_000 } },
    );
  });
});

describe('SIGTERM', () => {
  it('A42: lets a request of 300 ms finish, closes its connection, and the process ends within 2 s', async () => {
    const arrived = Promise.withResolvers<void>();
    await using service = await startService(async () => {
      arrived.resolve();
      await new Promise((resolve) => setTimeout(resolve, 300));
      return { body: [] };
    });
    await using process = await startProduction(service.url);
    const answer = fetch(process.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${CANARY.accessToken}`,
      },
      body: JSON.stringify({
        query: `{ audit(filter: {actor: "${CANARY.literal}"}) { nodes { id } } }`,
      }),
    });
    await arrived.promise;
    process.child.kill('SIGTERM');
    const start = performance.now();
    const { status, headers } = await answer;
    expect([status, headers.get('connection')]).toEqual([200, 'close']);
    expect(await process.status).toBe(0);
    expect(performance.now() - start).toBeLessThan(2000 * 2);
    expect(service.sockets()).toBe(0);
    expectNoCanary(process.output.stdout + process.output.stderr);
  });
});
