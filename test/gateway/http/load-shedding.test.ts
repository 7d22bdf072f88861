import { describe, expect, it } from 'vitest';
import { acceptTokens, ask, codeOf, gatewayOver, onPort } from '../../helpers/gateway.ts';
import { type ServiceResponse, startService } from '../../helpers/service.ts';

const AUDIT = '{ audit { totalCount } }';

/** A service that responds once it is released; until `hold` is called, at once with `first`. */
async function startHeldService(first?: ServiceResponse) {
  const held = Promise.withResolvers<void>();
  let isHeld = first === undefined;
  const service = await startService(async () => {
    if (!isHeld) return first;
    await held.promise;
    return { body: [] };
  });
  const hold = () => {
    isHeld = true;
    service.forget();
  };
  return { service, release: held.resolve, hold };
}

describe('more requests in flight than the limit', () => {
  it('get 503 before their body is read, and those in flight are served', async () => {
    const { service, release } = await startHeldService();
    await using _ = service;
    await using gateway = gatewayOver(service.url, { maxInFlight: 1 });
    const served = ask(gateway, AUDIT, {}, { token: 't' });
    await expect.poll(() => service.seen.length).toBe(1);

    const rejected = await ask(gateway, 'not even GraphQL', {}, { token: 't' });
    expect(rejected.status).toBe(503);
    expect(rejected.headers.get('retry-after')).toBe('1');
    expect(rejected.headers.get('cache-control')).toBe('no-store');
    expect(rejected.errors).toMatchObject([
      { extensions: { code: 'OVERLOADED', retryable: true, retryAfterSeconds: 1 } },
    ]);

    release();
    expect((await served).data).toEqual({ audit: { totalCount: 0 } });
    expect(service.seen).toHaveLength(1);
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
  /** A gateway with five places, of which one caller gets three, over a held service. `send` goes through the port or `gateway.fetch`. */
  async function startBusy(path: string, trustedProxies = 0) {
    await using stack = new AsyncDisposableStack();
    const { service, release, hold } = await startHeldService({ body: [] });
    stack.use(service);
    const gateway = stack.use(gatewayOver(service.url, { maxInFlight: 5, trustedProxies }));
    const server = stack.use(await onPort(gateway));
    stack.defer(release); // first: the port closes with the last response
    await acceptTokens(gateway, 'a', 'b');
    hold();
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
    'leave two places for callers that have none, and the gateway is ready, by %s',
    async (path) => {
      await using bed = await startBusy(path);
      const served = ['Bearer a', 'bearer a', 'BEARER a'].map((authorization) =>
        bed.send({ authorization }),
      );
      await expect.poll(() => bed.service.seen.length).toBe(3);
      expect(await bed.send({ authorization: 'Bearer a' })).toEqual(REFUSED);
      expect(await bed.ready()).toBe(200);
      for (const name of ['b', 'c']) {
        served.push(bed.send({ authorization: `Bearer ${name}` }));
        await expect.poll(() => bed.service.seen.length).toBe(served.length);
        expect(await bed.send({ authorization: `Bearer ${name}` })).toEqual(REFUSED);
      }
      expect(await bed.ready()).toBe(503);
      bed.release();
      for (const one of served) expect(await one).toEqual([200, '']);
      expect(bed.service.seen).toHaveLength(5);
      for (const authorization of ['Bearer a', 'Bearer c'])
        expect(await bed.send({ authorization })).toEqual([200, '']);
    },
  );

  it('are counted by the address of the client if it has no token', async () => {
    await using bed = await startBusy('a port', 1);
    const first = { 'x-forwarded-for': '192.0.2.1' };
    const served = [bed.send(first, LOGIN)];
    await expect.poll(() => bed.service.seen.length).toBe(1);
    expect(await bed.send(first, LOGIN)).toEqual(REFUSED);
    for (const count of [2, 3]) {
      served.push(bed.send({ 'x-forwarded-for': `192.0.2.${count}` }, LOGIN));
      await expect.poll(() => bed.service.seen.length).toBe(count);
    }
    // All networks together have at most half of the places.
    expect(await bed.send({ 'x-forwarded-for': '192.0.2.4' }, LOGIN)).toEqual(REFUSED);
    expect(await bed.ready()).toBe(200);
    bed.release();
    await Promise.all(served);
  });

  it('are those of one caller if neither an accepted token nor an address is known', async () => {
    await using bed = await startBusy('`gateway.fetch`');
    const served = bed.send({}, LOGIN);
    await expect.poll(() => bed.service.seen.length).toBe(1);
    expect(await bed.send({}, LOGIN)).toEqual(REFUSED);
    expect(await bed.send({ authorization: 'Bearer y' })).toEqual(REFUSED);
    const other = bed.send({ authorization: 'Bearer a' });
    await expect.poll(() => bed.service.seen.length).toBe(2);
    bed.release();
    await Promise.all([served, other]);
  });

  const DELETION = 'mutation { deleteApiKey(clientId: "k") { outcome } }';

  it.each<[string, boolean, string, ServiceResponse]>([
    ['a read', true, AUDIT, { body: [] }],
    ['a deletion', true, DELETION, { status: 204 }],
    ['a read that got 401', false, AUDIT, { status: 401 }],
    ['a read that got 500', false, AUDIT, { status: 500 }],
    ['a read whose 2xx says that it failed', false, AUDIT, { body: { error: 'invalid_token' } }],
    ['a read whose 2xx is a page', false, AUDIT, { body: '<html>log in</html>' }],
    ['a read whose 2xx is no list', false, AUDIT, { body: { page: 'log in' } }],
    ['a deletion that got 404', false, DELETION, { status: 404 }],
    ['a deletion whose 2xx says that it failed', false, DELETION, { body: { deleted: false } }],
    ['a login', false, LOGIN, { body: { access_token: 't' } }],
  ])('after %s, are those of its token: %s', async (_, isAccepted, query, first) => {
    const { service, release, hold } = await startHeldService(first);
    await using _service = service;
    await using gateway = gatewayOver(service.url, { maxInFlight: 5 });
    await ask(gateway, query, {}, { token: 't' });
    expect(service.seen).toHaveLength(1);
    hold();
    const other = ask(gateway, AUDIT, {}, { token: 'other' });
    await expect.poll(() => service.seen.length).toBe(1);
    const own = ask(gateway, AUDIT, {}, { token: 't' });
    if (isAccepted) await expect.poll(() => service.seen.length).toBe(2);
    else expect((await own).status).toBe(503);
    release();
    await Promise.all([other, own]);
    expect(service.seen).toHaveLength(isAccepted ? 2 : 1);
  });

  it('are those of its token for an hour, which begins again with each acceptance', async () => {
    const { service, release, hold } = await startHeldService({ body: [] });
    await using _service = service;
    let hours = 0;
    const clock = () => performance.now() + hours * 3_600_000;
    await using gateway = gatewayOver(service.url, { maxInFlight: 5, clock });
    await acceptTokens(gateway, 'old', 't');
    hours += 0.6;
    await acceptTokens(gateway, 't');
    hours += 0.6;
    hold();
    const other = ask(gateway, AUDIT, {}, { token: 'other' });
    await expect.poll(() => service.seen.length).toBe(1);
    expect((await ask(gateway, AUDIT, {}, { token: 'old' })).status).toBe(503);
    const own = ask(gateway, AUDIT, {}, { token: 't' });
    await expect.poll(() => service.seen.length).toBe(2);
    release();
    await Promise.all([other, own]);
  });
});

describe('event-loop lag', () => {
  it.each([
    ['sheds requests beside another one until the event loop has caught up', true],
    ['sheds no request if there is no other', false],
  ])('%s', async (_, isBusy) => {
    const slow = Promise.withResolvers<void>();
    await using service = await startService(async ({ headers }) => {
      if (headers.authorization === 'Bearer slow') await slow.promise;
      return { body: [] };
    });
    let ahead = 0;
    const clock = () => performance.now() + ahead;
    await using gateway = gatewayOver(service.url, { clock, maxLagMs: undefined });
    expect(codeOf(await ask(gateway, AUDIT, {}, { token: 't' }))).toBe('');
    const other = isBusy ? ask(gateway, AUDIT, {}, { token: 'slow' }) : null;
    await expect.poll(() => service.seen.length).toBe(isBusy ? 2 : 1);
    ahead = 5000; // as if the event loop had been blocked for five seconds
    const code = codeOf(await ask(gateway, AUDIT, {}, { token: 't' }));
    expect(code).toBe(isBusy ? 'OVERLOADED' : '');
    await expect.poll(async () => codeOf(await ask(gateway, AUDIT, {}, { token: 't' }))).toBe('');
    slow.resolve();
    if (other !== null) expect(codeOf(await other)).toBe('');
  });
});
