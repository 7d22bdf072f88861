import { describe, expect, it } from 'vitest';
import { ask, codeOf, gatewayOver, onPort } from '../helpers/gateway.ts';
import { startService } from '../helpers/service.ts';

const AUDIT = '{ audit { totalCount } }';

/** A service that answers when it is let. */
async function startHeldService() {
  const held = Promise.withResolvers<void>();
  const service = await startService(async () => {
    await held.promise;
    return { body: [] };
  });
  return { service, release: held.resolve };
}

describe('more requests than may be under way at once', () => {
  it('are answered 503 before they are looked at, and those under way are served', async () => {
    const { service, release } = await startHeldService();
    await using _ = service;
    await using gateway = gatewayOver(service.url, { maxInFlight: 2 });
    const served = [1, 2].map(() => ask(gateway, AUDIT, {}, { token: 't' }));
    await expect.poll(() => service.seen.length).toBe(2);

    const refused = await ask(gateway, 'not even GraphQL', {}, { token: 't' });
    expect(refused.status).toBe(503);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(refused.headers.get('cache-control')).toBe('no-store');
    expect(refused.errors).toMatchObject([
      { extensions: { code: 'OVERLOADED', retryable: true, retryAfterSeconds: 1 } },
    ]);

    release();
    for (const { data } of await Promise.all(served)) {
      expect(data).toEqual({ audit: { totalCount: 0 } });
    }
    expect(service.seen).toHaveLength(2);
    expect((await ask(gateway, AUDIT, {}, { token: 't' })).status).toBe(200);
  });

  it('leave the gateway alive and not ready', async () => {
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
    const refused = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body });
    expect(refused.status).toBe(503);
    release();
    await served;
    await expect.poll(() => health('ready')).toEqual([200, { status: 'ready' }]); // a slow machine lags
  });
});

describe('an event loop that lags', () => {
  it('sends requests away until it has caught up', async () => {
    await using service = await startService({ body: [] });
    let ahead = 0;
    const clock = () => performance.now() + ahead;
    await using gateway = gatewayOver(service.url, { clock });
    expect(codeOf(await ask(gateway, AUDIT, {}, { token: 't' }))).toBe('');
    ahead = 60_000; // as if nothing had happened for a minute
    expect(codeOf(await ask(gateway, AUDIT, {}, { token: 't' }))).toBe('OVERLOADED');
    await expect
      .poll(async () => codeOf(await ask(gateway, AUDIT, {}, { token: 't' })), { timeout: 5000 })
      .toBe('');
  });
});
