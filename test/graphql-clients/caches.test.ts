import { parse } from 'graphql';
import { describe, expect, it, vi } from 'vitest';
import * as apollo from '../../examples/graphql-clients/apollo.ts';
import * as relay from '../../examples/graphql-clients/relay/audit.ts';
import { createEnvironment } from '../../examples/graphql-clients/relay/environment.ts';
import * as urql from '../../examples/graphql-clients/urql.ts';
import { DeleteApiKeyDocument } from '../../src/client/index.ts';
import { EVENTS, KEYS, keysOf, line, lose, SPARSE, startTrail } from './trail.ts';

type Variables = {
  readonly first: number;
  readonly after?: string | null | undefined;
  readonly filter?: { readonly actions: readonly string[] };
};

/** A page of a trail. It may contain the pages before it. */
type Page = {
  readonly edges: readonly { readonly node: Parameters<typeof line>[0] }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly endCursor?: string | null | undefined;
  };
};
type Result = { readonly audit?: Page | null | undefined } | null | undefined;

/** A client with a normalizing cache. */
type Client = {
  readonly request: (variables: Variables) => Promise<Result>;
  readonly requestTargets: (variables: Variables) => Promise<unknown>;
  /** Reads a page from the cache, or requests it. */
  readonly read: (variables: Variables) => Promise<Result>;
  readonly deleteApiKey: (clientId: string) => Promise<unknown>;
};

const PARTY = '{ identifier name apiKey { clientId } }';
const query = (fields: string) =>
  parse(`query Trail($first: Int!, $after: String, $filter: AuditFilter) {
    audit(first: $first, after: $after, filter: $filter) {
      edges { node { id ${fields} } }
      pageInfo { hasNextPage endCursor }
    }
  }`);
const TRAIL = query(`action actor ${PARTY} target ${PARTY}`);
const TARGETS = query(`target ${PARTY}`);

const CLIENTS: Readonly<Record<string, (url: string) => Client>> = {
  'Apollo Client': (url) => {
    const client = apollo.createClient(url, 't');
    return {
      request: async (variables) =>
        (await client.query<Result>({ query: TRAIL, variables, fetchPolicy: 'network-only' })).data,
      requestTargets: (variables) =>
        client.query({ query: TARGETS, variables, fetchPolicy: 'network-only' }),
      read: async (variables) => (await client.query<Result>({ query: TRAIL, variables })).data,
      deleteApiKey: (clientId) => apollo.deleteApiKey(client, clientId),
    };
  },
  urql: (url) => {
    const client = urql.createClient(url, 't');
    const network = { requestPolicy: 'network-only' } as const;
    return {
      request: async (variables) => {
        const { data, error } = await client.query(TRAIL, variables, network).toPromise();
        if (error) throw error;
        return data;
      },
      requestTargets: (variables) => client.query(TARGETS, variables, network).toPromise(),
      read: async (variables) => (await client.query(TRAIL, variables).toPromise()).data,
      deleteApiKey: async (clientId) => {
        const document = DeleteApiKeyDocument.toString();
        const { error } = await client.mutation(document, { clientId }).toPromise();
        if (error) throw error;
      },
    };
  },
  Relay: (url) => {
    const environment = createEnvironment(url, 't');
    return {
      request: (variables) => relay.readPage(environment, variables, 'network-only'),
      requestTargets: (variables) => relay.readTargets(environment, variables),
      read: (variables) => relay.readPage(environment, variables),
      deleteApiKey: (clientId) => relay.deleteApiKey(environment, clientId),
    };
  },
};

const keys = (result: Result) => result?.audit?.edges.map(({ node }) => keysOf(node));
const lines = (result: Result) => result?.audit?.edges.map(({ node }) => line(node));

/** Requests page after page, at most ten. Returns the last result. */
async function requestAll({ request }: Client, variables: Variables): Promise<Result> {
  let result = await request(variables);
  for (let pages = 1; result?.audit?.pageInfo.hasNextPage && pages < 10; pages += 1)
    result = await request({ ...variables, after: result.audit.pageInfo.endCursor });
  return result;
}

describe.each(Object.entries(CLIENTS))('the cache of %s', (_, create) => {
  it('keeps a user and a key with the same identifier apart', async () => {
    await using trail = await startTrail();
    const client = create(trail.url);
    expect(lines(await client.request({ first: 1 }))).toEqual(EVENTS.slice(0, 1));
    expect(lines(await client.read({ first: 1 }))).toEqual(EVENTS.slice(0, 1));
    expect(trail.sent()).toEqual(['GET']);
  });

  it('keeps them apart after a query that has only the targets', async () => {
    await using trail = await startTrail();
    const client = create(trail.url);
    await client.request({ first: 2 });
    await client.requestTargets({ first: 2 });
    expect(lines(await client.read({ first: 2 }))).toEqual(EVENTS.slice(0, 2));
  });

  it('stores the keys of events once each, and gives user 7 no key', async () => {
    await using trail = await startTrail();
    const client = create(trail.url);
    expect(keys(await requestAll(client, { first: 2 }))).toEqual(KEYS);
    await client.deleteApiKey('9');
    expect(keys(await client.request({ first: 5 }))).toEqual(KEYS);
    expect(keys(await client.read({ first: 5 }))).toEqual(KEYS);
  });

  it('joins pages without a lost, doubled or merged event, whether its ID is null or that of another', async () => {
    await using trail = await startTrail();
    const client = create(trail.url);
    expect(lines(await requestAll(client, { first: 2 }))).toEqual(EVENTS);
    expect(trail.sent()).toEqual(['GET', 'GET', 'GET']);
    expect(lines(await client.read({ first: 2 }))).toEqual(EVENTS);
    expect(trail.sent()).toEqual([]);
  });

  it('keeps the pages of two filters apart', async () => {
    await using trail = await startTrail();
    const client = create(trail.url);
    const filter = { actions: ['client.login'] };
    await client.request({ first: 2 });
    expect(lines(await client.request({ first: 2, filter }))).toEqual([EVENTS[1]]);
    expect(lines(await client.read({ first: 2 }))).toEqual(EVENTS.slice(0, 2));
  });

  it('gets past filtered pages that are empty', async () => {
    await using trail = await startTrail({ read: SPARSE });
    const client = create(trail.url);
    const filter = { actions: ['key.delete'] };
    const result = await requestAll(client, { first: 2, filter });
    expect(lines(result)).toEqual(EVENTS.slice(0, 1));
    expect(result?.audit?.pageInfo.hasNextPage).toBe(false);
    expect(trail.sent()).toHaveLength(27); // three pages of 10, 10 and 7: two read the record of their cursor again
  });

  it('requests the trail again after a deletion', async () => {
    await using trail = await startTrail();
    const client = create(trail.url);
    await requestAll(client, { first: 2 });
    await client.deleteApiKey('ci-key');
    trail.sent();
    expect(lines(await client.read({ first: 2 }))?.slice(0, 2)).toEqual(EVENTS.slice(0, 2));
    expect(trail.sent()).toEqual(['GET']);
  });

  it('requests it again after a deletion whose response was lost', async () => {
    await using trail = await startTrail({ remove: lose });
    const client = create(trail.url);
    await client.request({ first: 2 });
    await expect(client.deleteApiKey('ci-key')).rejects.toThrow();
    expect(trail.sent()).toEqual(['GET', 'DELETE']);
    await client.read({ first: 2 });
    expect(trail.sent()).toEqual(['GET']);
  });

  it('does not keep a trail that could not be read', async () => {
    let status = 403;
    await using trail = await startTrail({ read: () => ({ status, body: [] }) });
    const client = create(trail.url);
    await expect(client.request({ first: 2 })).rejects.toThrow('does not permit');
    status = 200;
    expect(lines(await client.read({ first: 2 }))).toEqual([]);
    expect(trail.sent()).toEqual(['GET', 'GET']);
  });
});

describe('an API key in the cache', () => {
  it('has its client ID as key in Apollo Client', () => {
    const { cache } = apollo.createClient('http://127.0.0.1:9', 't');
    const key = { __typename: 'ApiKey', clientId: 'ci-key' };
    expect(cache.identify(key)).toBe('ApiKey:{"clientId":"ci-key"}');
  });

  it('must be requested with its client ID in Apollo Client', async () => {
    await using trail = await startTrail();
    const client = apollo.createClient(trail.url, 't');
    const document = parse('{ audit { edges { node { target { apiKey { __typename } } } } } }');
    await expect(client.query({ query: document })).rejects.toThrow('clientId');
  });

  it('has its client ID as key in Relay', async () => {
    await using trail = await startTrail();
    const environment = createEnvironment(trail.url, 't');
    await relay.deleteApiKey(environment, 'ci-key');
    expect(environment.getStore().getSource().has('ApiKey:ci-key')).toBe(true);
  });
});

describe('urql', () => {
  it('keeps keys apart whose client ID was not requested', async () => {
    await using trail = await startTrail();
    const client = urql.createClient(trail.url, 't');
    const query = `query ($keys: [_Any!]!) {
      _entities(representations: $keys) { ... on ApiKey { audit { nodes { action } } } } }`;
    const keys = ['7', '5'].map((clientId) => ({ __typename: 'ApiKey', clientId }));
    const { data } = await client.query(query, { keys }).toPromise();
    expect(data?._entities).toMatchObject([
      {
        audit: {
          nodes: [{ action: 'key.delete' }, { action: 'key.create' }, { action: 'key.rotate' }],
        },
      },
      { audit: { nodes: [{ action: 'key.create' }] } },
    ]);
  });

  it('warns of no type without a key', async () => {
    await using trail = await startTrail();
    const warn = vi.spyOn(console, 'warn').mockReturnValue();
    const client = urql.createClient(trail.url, 't');
    await client.query(TRAIL, { first: 5 }).toPromise();
    // A federated graph has queries that return keys; Keytrail itself has only this one, which is for routers.
    const KEYS = `{ _entities(representations: [{ __typename: "ApiKey", clientId: "7" }]) {
      ... on ApiKey { clientId audit(first: 1) { nodes { action } } }
    } }`;
    const { data } = await client.query(KEYS, {}).toPromise();
    expect(data?._entities?.[0]?.clientId).toBe('7');
    expect(trail.sent()).toEqual(['GET', 'GET']);
    expect(warn.mock.calls).toEqual([]);
    warn.mockRestore();
  });
});

describe('Apollo Client with `errorPolicy: "all"`', () => {
  it('caches a trail that could not be read as an empty one', async () => {
    await using trail = await startTrail({ read: () => ({ status: 403 }) });
    const client = apollo.createClient(trail.url, 't');
    const variables = { first: 1 };
    await client.query({ query: TRAIL, variables, errorPolicy: 'all' });
    expect(lines((await client.query<Result>({ query: TRAIL, variables })).data)).toEqual([]);
    expect(trail.sent()).toEqual(['GET']);
  });
});
