import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };
import { AuditDocument, LoginDocument } from '../../../src/client/operations.generated.ts';
import { createClientReader } from '../../../src/gateway/http/read-client.ts';
import { createSandbox } from '../../../src/testing/create-sandbox.ts';
import { ask, gatewayOver, type Overrides, onPort } from '../../helpers/gateway.ts';
import { startLiveTrail } from '../../helpers/live-trail.ts';
import { type ReceivedRequest, startService } from '../../helpers/service.ts';
import { subscribe } from '../../helpers/subscribe.ts';

const NAME = `keytrail/${manifest.version}`;
const LEARNED = ['user-agent', 'x-forwarded-for', 'via'] as const;

const AUDIT = '{ audit { nodes { id } } }';
const OPERATIONS: readonly (readonly [string, string])[] = [
  ['a read', AUDIT],
  ['a read of another size', '{ audit(first: 1) { totalCount } }'],
  ['a deletion', 'mutation ($id: ID!) { deleteApiKey(clientId: $id) { outcome } }'],
  [
    'a login',
    'mutation ($id: ID!, $by: LoginCredential!) { login(clientId: $id, credential: $by) { accessToken } }',
  ],
];

const learned = ({ headers }: ReceivedRequest) => LEARNED.map((name) => headers[name]);

/** Sends each operation three times over a port, since the second and the third take the fast path; returns what the service learned. */
async function learn(headers: Readonly<Record<string, string>>, overrides: Overrides = {}) {
  await using service = await startService({ body: { access_token: 'a', events: [] } });
  await using gateway = gatewayOver(service.url, overrides);
  await using port = await onPort(gateway);
  for (const [, query] of OPERATIONS)
    for (const _ of [1, 2, 3])
      await fetch(`${port.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer t', ...headers },
        body: JSON.stringify({ query, variables: { id: 'k', by: { clientSecret: 's' } } }),
      });
  expect(service.seen).toHaveLength(3 * OPERATIONS.length);
  return [...new Set(service.seen.map((seen) => JSON.stringify(learned(seen))))].map((text) =>
    JSON.parse(text),
  );
}

describe('what the service learns of a client', () => {
  it('is its agent and its address, through two trusted proxies, with every operation', async () => {
    const headers = {
      'x-forwarded-for': '203.0.113.99, 203.0.113.7, 10.0.0.1',
      'user-agent': 'audit-console/2.1 (X11)',
    };
    expect(await learn(headers, { trustedProxies: 2 })).toEqual([
      ['audit-console/2.1 (X11)', '203.0.113.7', '1.1 keytrail'],
    ]);
  });

  it('is the whole IPv6 address', async () => {
    const headers = { 'x-forwarded-for': '2001:0db8::7', 'user-agent': 'a' };
    expect(await learn(headers, { trustedProxies: 1 })).toEqual([
      ['a', '2001:db8::7', '1.1 keytrail'],
    ]);
  });

  it('is no address that the client claims, and none on loopback', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.99', 'user-agent': 'a' };
    expect(await learn(headers)).toEqual([['a', null, '1.1 keytrail']]);
  });

  it.each([
    ['empty', ''],
    ['longer than 256 characters', 'a'.repeat(257)],
    ['not ASCII', 'caf\u00e9'],
  ])('is the version of Keytrail if the agent is %s', async (_, agent) => {
    expect(await learn({ 'user-agent': agent })).toEqual([[NAME, null, '1.1 keytrail']]);
  });

  it('is neither if that is off', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.7', 'user-agent': 'a' };
    const overrides = { trustedProxies: 1, forwardClient: false };
    expect(await learn(headers, overrides)).toEqual([[NAME, null, '1.1 keytrail']]);
  });

  it('is the same in every poll of a subscription', async () => {
    await using live = await startLiveTrail({ trustedProxies: 1 });
    const headers = { 'x-forwarded-for': '203.0.113.7', 'user-agent': 'console/1' };
    await using stream = await subscribe(live.gateway, {}, { headers });
    await stream.nextBatch();
    await live.poll();
    await live.poll();
    const all = live.service.seen.map((seen) => learned(seen).join());
    expect(all.length).toBeGreaterThan(2);
    expect(new Set(all)).toEqual(new Set(['console/1,203.0.113.7,1.1 keytrail']));
  });

  it('is in the audit trail of the sandbox', async () => {
    await using sandbox = await createSandbox();
    await using gateway = gatewayOver(sandbox.url, { trustedProxies: 1 });
    const headers = { 'x-forwarded-for': '203.0.113.7', 'user-agent': 'console/1' };
    const credential = { clientSecret: 'demo-admin-secret-5f2c9a71' };
    const variables = { clientId: 'demo-admin', credential };
    const { data: login } = await ask(gateway, LoginDocument, variables, { headers });
    const token = login?.login?.accessToken ?? '';
    const query = '{ audit(first: 1) { nodes { action ipAddress userAgent } } }';
    const { data } = await ask(gateway, query, {}, { token });
    const event = { action: 'client.login', ipAddress: '203.0.113.7', userAgent: 'console/1' };
    expect(data).toEqual({ audit: { nodes: [event] } });
  });

  it('has no address in a program that calls fetch', async () => {
    await using service = await startService({ body: { events: [] } });
    await using gateway = gatewayOver(service.url);
    await ask(gateway, AuditDocument, {}, { token: 't' });
    expect(service.seen.map(learned)).toEqual([[NAME, undefined, '1.1 keytrail']]);
  });

  it('is never a header that HTTP forbids, nor another address than one', () => {
    const header = fc.option(fc.oneof(fc.string({ unit: 'binary' }), fc.ipV4(), fc.ipV6()));
    fc.assert(
      fc.property(header, header, fc.nat(3), (forwardedFor, agent, trustedProxies) => {
        const values: Readonly<Record<string, string | null>> = {
          'x-forwarded-for': forwardedFor,
          'user-agent': agent,
        };
        const read = createClientReader({ trustedProxies, forwardClient: true });
        const headers = read(undefined, { get: (name) => values[name] ?? null }).headers();
        expect(() => new Headers(headers)).not.toThrow();
        expect(headers['user-agent'] ?? '').toMatch(/^[\x20-\x7e]{0,256}$/);
        expect(headers['x-forwarded-for'] ?? '').toMatch(/^[\da-f.:]*$/);
      }),
    );
  });
});

const PEER = '198.51.100.9';

const readClient = (
  peer: string | undefined,
  forwardedFor: string | null,
  trustedProxies: number,
) =>
  createClientReader({ trustedProxies, forwardClient: true })(peer, {
    get: (name) => (name === 'x-forwarded-for' ? forwardedFor : null),
  });

/** What the limits count. */
const readNetwork = (...sources: Parameters<typeof readClient>) => readClient(...sources).address();

describe('the network that limits count', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:0201', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
    ['2001:0DB8:0001:0002::', '2001:db8:1::/48'],
    ['2001:db8::6', '2001:db8:0::/48'],
    ['::1', '0:0:0::/48'],
    ['::192.0.2.1', '0:0:0::/48'],
    ['fe80::1%eth0', 'fe80:0:0::/48'],
    ['64:ff9b::192.0.2.1', '192.0.2.1'],
    ['64:FF9B:0:0:0:0:c000:201', '192.0.2.1'],
    ['64:ff9b::', '0.0.0.0'],
    ['64:ff9b:1::192.0.2.1', '192.0.2.1'],
    ['64:ff9b:1:2:3:4:192.0.2.1', '192.0.2.1'],
    ['64:ff9b:0:1::192.0.2.1', '64:ff9b:0::/48'],
    ['64:ff9b:2::192.0.2.1', '64:ff9b:2::/48'],
    ['64:ff9c::192.0.2.1', '64:ff9c:0::/48'],
    ['', null],
    ['/run/keytrail.sock', null],
  ])('is that of the socket %s: %s', (peer, expected) => {
    expect(readNetwork(peer, '203.0.113.1', 0)).toBe(expected);
  });

  it.each<[number, string | null, string]>([
    [0, '203.0.113.1', PEER],
    [1, null, PEER],
    [1, '', PEER],
    [1, '203.0.113.1', '203.0.113.1'],
    [1, 'forged, 203.0.113.1', '203.0.113.1'],
    [1, '203.0.113.7,203.0.113.1', '203.0.113.1'],
    [2, '203.0.113.7, 203.0.113.1, 10.0.0.1', '203.0.113.1'],
    [2, '203.0.113.1', PEER],
    [3, '203.0.113.7, 203.0.113.1', PEER],
    [1, '203.0.113.1, unknown', PEER],
    [1, '203.0.113.1, ', PEER],
    [1, '203.0.113.1:4711', '203.0.113.1'],
    [1, '[2001:db8:1:2::3]:4711', '2001:db8:1::/48'],
    [1, '[2001:db8:1:2::3]', '2001:db8:1::/48'],
    [1, '2001:db8:1:2::3', '2001:db8:1::/48'],
    [1, '"203.0.113.1"', PEER],
    [1, '203.0.113.256', PEER],
  ])('with %d proxies and X-Forwarded-For %j is %s', (trustedProxies, forwardedFor, expected) => {
    expect(readNetwork(PEER, forwardedFor, trustedProxies)).toBe(expected);
  });

  it.each<[number, string | null, string | null]>([
    [0, '203.0.113.1', null],
    [1, '203.0.113.7, 203.0.113.1', '203.0.113.1'],
    [2, '203.0.113.1', null],
    [1, 'unknown', null],
    [1, null, null],
  ])(
    'without a socket, with %d proxies and X-Forwarded-For %j is %s',
    (trustedProxies, forwardedFor, expected) => {
      expect(readNetwork(undefined, forwardedFor, trustedProxies)).toBe(expected);
    },
  );

  it('is never one that the client wrote into X-Forwarded-For', () => {
    const sent = fc.option(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6()));
    fc.assert(
      fc.property(
        sent,
        fc.ipV4(),
        fc.array(fc.ipV4(), { maxLength: 4 }),
        (forged, client, inner) => {
          // Each proxy appends the address of its client; the innermost proxy is the peer of the socket.
          const forwardedFor = [...(forged === null ? [] : [forged]), client, ...inner].join(', ');
          const trustedProxies = inner.length + 1;
          expect(readNetwork(PEER, forwardedFor, trustedProxies)).toBe(client);
        },
      ),
    );
  });

  it('is the same in every notation, and for every host of an IPv6 /48', () => {
    const group = fc.integer({ min: 1, max: 0xffff });
    const groups = (count: number) => fc.array(group, { minLength: count, maxLength: count });
    fc.assert(
      fc.property(groups(3), groups(5), (site, host) => {
        const long = [...site, ...host].map((each) => each.toString(16).padStart(4, '0'));
        const short = site.map((each) => each.toString(16)).join(':');
        const read = (peer: string) => readNetwork(peer, null, 0);
        expect(read(long.join(':').toUpperCase())).toBe(`${short}::/48`);
        expect(read(`${short}::`)).toBe(`${short}::/48`);
      }),
    );
  });

  it('is the IPv4 address in every notation of NAT64', () => {
    const local = fc.array(fc.nat(0xffff), { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(fc.ipV4(), local, (ipv4, groups) => {
        const prefix = `64:ff9b:1:${groups.map((each) => each.toString(16)).join(':')}`;
        for (const before of ['64:ff9b:', '64:ff9b:0:0:0:0', '::ffff', prefix])
          expect(readNetwork(`${before}:${ipv4}`, null, 0)).toBe(ipv4);
      }),
    );
  });
});

describe('the whole IP address', () => {
  it.each([
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:0DB8:0001:0002::0:5', '2001:db8:1:2::5'],
    ['fe80::1%eth0', 'fe80::1'],
    ['64:ff9b::192.0.2.1', '64:ff9b::c000:201'],
    ['12.7.0.1', '12.7.0.1'],
    ['127.0.0.1', undefined],
    ['127.8.9.1', undefined],
    ['::1', undefined],
    ['::ffff:127.0.0.1', undefined],
  ])('that is forwarded of the socket %s is %s', (peer, expected) => {
    expect(readClient(peer, null, 0).headers()['x-forwarded-for']).toBe(expected);
  });
});
