import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { createSandbox } from '../../src/api/create-sandbox.ts';
import { AuditDocument, LoginDocument } from '../../src/client/operations.generated.ts';
import { createClientReader } from '../../src/http/read-client.ts';
import { ask, gatewayOver, type Overrides, onPort } from '../helpers/gateway.ts';
import { startLiveTrail } from '../helpers/live-trail.ts';
import { type ReceivedRequest, startService } from '../helpers/service.ts';
import { subscribe } from '../helpers/subscribe.ts';

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
