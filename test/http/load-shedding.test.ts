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
    expect(await health('ready')).toEqual([200, { status: 'ready' }]);
  });
});

describe('the requests in flight of one caller', () => {
  /** A gateway with four places, over a held service. `send` goes through the port or `gateway.fetch`. */
  async function startBusy(path: string, trustedProxies = 0) {
    await using stack = new AsyncDisposableStack();
    const { service, release } = await startHeldService();
    stack.use(service);
    const gateway = stack.use(gatewayOver(service.url, { maxInFlight: 4, trustedProxies }));
    const server = stack.use(await onPort(gateway));
    stack.defer(release); // first: the port closes with the last response
    const kept = stack.move();
    const fetcher = path === 'a port' ? fetch : gateway.fetch;
    const send = async (headers: Readonly<Record<string, string>>, query = AUDIT) => {
      const response = await fetcher(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ query }),
      });
      return [response.status, codeOf(await response.json())];
    };
    const ready = async () => (await fetch(`${server.url}/health/ready`)).status;
    return { service, release, send, ready, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }
  const LOGIN =
    'mutation { login(clientId: "c", credential: { clientSecret: "s" }) { tokenType } }';
  const REFUSED = [503, 'OVERLOADED'];

  it.each(['a port', '`gateway.fetch`'])(
    'may be three quarters of the limit: others are admitted, and the gateway is ready, by %s',
    async (path) => {
      await using bed = await startBusy(path);
      const served = ['Bearer a', 'bearer a', 'BEARER a'].map((authorization) =>
        bed.send({ authorization }),
      );
      await expect.poll(() => bed.service.seen.length).toBe(3);
      expect(await bed.send({ authorization: 'Bearer a' })).toEqual(REFUSED);
      expect(await bed.ready()).toBe(200);
      const other = bed.send({ authorization: 'Bearer b' });
      await expect.poll(() => bed.service.seen.length).toBe(4);
      expect(await bed.send({ authorization: 'Bearer c' })).toEqual(REFUSED);
      expect(await bed.ready()).toBe(503);
      bed.release();
      for (const one of [...served, other]) expect(await one).toEqual([200, '']);
      expect(bed.service.seen).toHaveLength(4);
      for (const authorization of ['Bearer a', 'Bearer c'])
        expect(await bed.send({ authorization })).toEqual([200, '']);
    },
  );

  it('are counted by the address of the client if it has no token', async () => {
    await using bed = await startBusy('a port', 1);
    const first = { 'x-forwarded-for': '192.0.2.1' };
    const served = [1, 2, 3].map(() => bed.send(first, LOGIN));
    await expect.poll(() => bed.service.seen.length).toBe(3);
    expect(await bed.send(first, LOGIN)).toEqual(REFUSED);
    const others = [bed.send({ 'x-forwarded-for': '192.0.2.2' }, LOGIN)];
    await expect.poll(() => bed.service.seen.length).toBe(4);
    bed.release();
    await Promise.all([...served, ...others]);
  });

  it('have no share of their own if neither token nor address is known', async () => {
    await using bed = await startBusy('`gateway.fetch`');
    const served = [1, 2, 3, 4].map(() => bed.send({}, LOGIN));
    await expect.poll(() => bed.service.seen.length).toBe(4);
    expect(await bed.send({}, LOGIN)).toEqual(REFUSED);
    bed.release();
    await Promise.all(served);
  });
});

describe('event-loop lag', () => {
  it('sheds requests until the event loop has caught up', async () => {
    await using service = await startService({ body: [] });
    let ahead = 0;
    const clock = () => performance.now() + ahead;
    await using gateway = gatewayOver(service.url, { clock, maxLagMs: undefined });
    expect(codeOf(await ask(gateway, AUDIT, {}, { token: 't' }))).toBe('');
    ahead = 60_000; // as if the event loop had been blocked for a minute
    expect(codeOf(await ask(gateway, AUDIT, {}, { token: 't' }))).toBe('OVERLOADED');
    await expect.poll(async () => codeOf(await ask(gateway, AUDIT, {}, { token: 't' }))).toBe('');
  });
});
