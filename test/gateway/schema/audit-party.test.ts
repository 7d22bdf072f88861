import { describe, expect, it } from 'vitest';
import type { ConfiguredContract } from '../../../src/gateway/mapping/contract.ts';
import { compareBothPaths } from '../../helpers/both-paths.ts';
import { ask, codeOf, gatewayOver, onPort, post } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

/** User 7 deletes key 7. */
const EVENTS = [
  {
    id: 'e1',
    time: '2026-11-20T16:05:00Z',
    action: 'key.delete',
    actor: { id: 7, name: 'Ann', type: 'user' },
    target: { id: 7, name: 'ci', type: 'api_key' },
  },
  {
    id: 'e2',
    time: '2026-11-20T16:04:00Z',
    action: 'client.login',
    actor: { id: 'ci', type: 'client' },
    target: { name: 'portal', type: 'ApiKey' },
  },
];

const KEYS =
  '{ audit { nodes { actor { identifier apiKey { clientId } } target { apiKey { clientId } } } } }';

type Node = Readonly<Record<'actor' | 'target', { readonly apiKey: object | null }>>;
type Data = { readonly audit: { readonly nodes: readonly Node[] } };

/** The keys of the actor and the target of each event. */
async function readKeys(event: NonNullable<ConfiguredContract['audit']>['event'] = {}) {
  await using service = await startService({ body: EVENTS });
  await using gateway = gatewayOver(service.url, { contract: { audit: { event } } });
  const { data } = await ask<Data, undefined>(gateway, KEYS, undefined, { token: 't' });
  const keys = data?.audit.nodes.map(({ actor, target }) => [actor.apiKey, target.apiKey]);
  return { keys, sent: service.seen.length, logged: gateway.logged };
}

describe('the API key of a party', () => {
  it('is there for the type api_key: key 7 is not user 7, and a key without identifier has none', async () => {
    const { keys, sent } = await readKeys();
    expect(keys).toEqual([
      [null, { clientId: '7' }],
      [null, null],
    ]);
    expect(sent).toBe(1);
  });

  it('is there for the types that the contract lists', async () => {
    const { keys } = await readKeys({
      actor: { apiKey: ['client', 'bot'] },
      target: { apiKey: null },
    });
    expect(keys).toEqual([
      [null, null],
      [{ clientId: 'ci' }, null],
    ]);
  });

  it('does not report a type with a slash as a pointer that matched nothing', async () => {
    const { logged } = await readKeys({ actor: { name: '/nobody', apiKey: ['iam/key'] } });
    const reports = logged.filter((line) => line.includes('contract entries'));
    expect(reports).toEqual([expect.stringContaining('audit.event.actor.name')]);
    expect(reports.join()).not.toContain('apiKey');
  });

  it('is there for every actor if the contract says so', async () => {
    const { keys } = await readKeys({ actor: { apiKey: true } });
    expect(keys).toEqual([
      [{ clientId: '7' }, { clientId: '7' }],
      [{ clientId: 'ci' }, null],
    ]);
  });

  it('is the same on both paths', async () => {
    const contract = { audit: { event: { actor: { apiKey: true } } } } as const;
    const requests = Array.from({ length: 4 }, () => ({ query: KEYS }));
    expect(await compareBothPaths(requests, { contract })).toBeGreaterThan(0);
  });
});

const NESTED = 'audit { nodes { target { apiKey { audit { nodes { id } } } } } }';

describe('`audit` below events is rejected before anything is sent', () => {
  it.each([
    ['Query.audit', `{ ${NESTED} }`],
    [
      'an alias',
      '{ a: audit { edges { node { actor { k: apiKey { b: audit { totalCount } } } } } } }',
    ],
    [
      'auditEvents',
      'subscription { auditEvents { nodes { actor { apiKey { audit { raw } } } } } }',
    ],
    [
      'auditEvents in fragments',
      `subscription { ...S } fragment S on Subscription { auditEvents { ...B } }
       fragment B on AuditEventBatch { nodes { ... on AuditEvent { target { ...P } } } }
       fragment P on AuditParty { apiKey { ...K } } fragment K on ApiKey { audit { totalCount } }`,
    ],
    [
      'a fragment that is also used where it is allowed',
      `{ _entities(representations: [{ __typename: "ApiKey", clientId: "a" }]) { ...K }
         audit { nodes { target { apiKey { ...K } } } } }
       fragment K on ApiKey { audit { totalCount } }`,
    ],
    ['an entity', `{ _entities(representations: []) { ... on ApiKey { ${NESTED} } } }`],
    ['a deleted key', `mutation { deleteApiKey(clientId: "a") { apiKey { ${NESTED} } } }`],
    ['a directive', `{ ${NESTED.replace('apiKey', 'apiKey @include(if: false)')} }`],
    ['an operation that is not executed', `query A { __typename } query B { ${NESTED} }`],
  ])('of %s', async (_, query) => {
    await using service = await startService({ body: EVENTS });
    await using gateway = gatewayOver(service.url);
    await using server = await onPort(gateway);
    const body = JSON.stringify({ query, operationName: query.includes('query A') ? 'A' : null });
    const overPort = { fetch: async (request: Request) => fetch(`${server.url}/graphql`, request) };
    for (const { fetch } of [gateway, overPort, overPort]) {
      const result = await post({ fetch }, body, { authorization: 'Bearer t' });
      expect(codeOf(result)).toBe('OPERATION_TOO_COMPLEX');
      expect(result.data ?? null).toBeNull();
      expect(result.errors?.[0]?.message).toBe(
        'The document exceeds a limit: it has more than one `audit` or `auditEvents` on a path. Split it: select `apiKey { clientId }` there, and request the events of a key with `audit(filter: …)`.',
      );
    }
    expect(service.seen).toHaveLength(0);
  });

  it.each([
    [
      'side by side',
      '{ a: audit { totalCount } b: audit { nodes { actor { apiKey { clientId } } } } }',
      1,
    ],
    [
      'of an entity whose events have keys',
      `{ _entities(representations: [{ __typename: "ApiKey", clientId: "7" }]) {
         ... on ApiKey { audit { nodes { target { apiKey { clientId } } } } } } }`,
      1,
    ],
    [
      'of a deleted key',
      'mutation { deleteApiKey(clientId: "7") { apiKey { audit { totalCount } } } }',
      2,
    ],
  ])('but not %s', async (_, query, sent) => {
    await using service = await startService({ body: EVENTS });
    await using gateway = gatewayOver(service.url);
    const { errors } = await ask(gateway, query, undefined, { token: 't' });
    expect(errors).toBeUndefined();
    expect(service.seen).toHaveLength(sent);
  });
});
