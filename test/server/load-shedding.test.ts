import { describe, expect, it } from 'vitest';
import { ask, codeOf, gatewayOver, onPort } from '../helpers/gateway.ts';
import { startService } from '../helpers/service.ts';

const AUDIT = '{ audit { totalCount } }';

/** A service that responds once it is released. */
async function startHeldService() {
  const held = Promise.withResolvers<void>();
  const service = await startService(async () => {
    await held.promise;
    return { body: [] };
  });
  return { service, release: held.resolve };
}

describe('more requests in flight than the limit', () => {
  it('get 503 before their body is read, and those in flight are served', async () => {
    const { service, release } = await startHeldService();
    await using _ = service;
    await using gateway = gatewayOver(service.url, { maxInFlight: 2 });
    const served = [1, 2].map(() => ask(gateway, AUDIT, {}, { token: 't' }));
    await expect.poll(() => service.seen.length).toBe(2);

    const rejected = await ask(gateway, 'not even GraphQL', {}, { token: 't' });
    expect(rejected.status).toBe(503);
    expect(rejected.headers.get('retry-after')).toBe('1');
    expect(rejected.headers.get('cache-control')).toBe('no-store');
    expect(rejected.errors).toMatchObject([
      { extensions: { code: 'OVERLOADED', retryable: true, retryAfterSeconds: 1 } },
    ]);

    release();
    for (const { data } of await Promise.all(served)) {
      expect(data).toEqual({ audit: { totalCount: 0 } });
    }
    expect(service.seen).toHaveLength(2);
    expect((await ask(gateway, AUDIT, {}, { token: 't' })).status).toBe(200);
  });

  it('leave the gateway live but not ready', async () => {
    const { service, release } = await startHeldService();
    await using _ = service;
    await using gateway = gatewayOver(service.url, { maxInFlight: 1 });
    await using server = await onPort(gateway);
    const health = async (name: string) => {
      const response = await fetch(`${server.url}/health/${name}`);
      return [response.status, await response.json()];
    };
    const served = ask(gateway, AUDIT, {}, { token: 't' });
    await expect.poll(() => service.seen.length).toBe(1);
    expect(await health('live')).toEqual([200, { status: 'live' }]);
    expect(await health('ready')).toEqual([503, { status: 'overloaded' }]);
    const body = JSON.stringify({ query: AUDIT });
    const headers = { 'content-type': 'application/json' };
    const rejected = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body });
    expect(rejected.status).toBe(503);
    release();
    await served;
    await expect.poll(() => health('ready')).toEqual([200, { status: 'ready' }]); // on a slow machine the event loop lags
  });
});

describe('event-loop lag', () => {
  it('sheds requests until the event loop has caught up', async () => {
    await using service = await startService({ body: [] });
    let ahead = 0;
    const clock = () => performance.now() + ahead;
    await using gateway = gatewayOver(service.url, { clock });
    expect(codeOf(await ask(gateway, AUDIT, {}, { token: 't' }))).toBe('');
    ahead = 60_000; // as if the event loop had been blocked for a minute
    expect(codeOf(await ask(gateway, AUDIT, {}, { token: 't' }))).toBe('OVERLOADED');
    await expect
      .poll(async () => codeOf(await ask(gateway, AUDIT, {}, { token: 't' })), { timeout: 5000 })
      .toBe('');
  });
});
