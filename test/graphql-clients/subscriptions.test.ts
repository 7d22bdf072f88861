import { ApolloClient, ApolloLink, gql, InMemoryCache } from '@apollo/client';
import { describe, expect, it } from 'vitest';
import * as apollo from '../../examples/graphql-clients/apollo.ts';
import { createEventClient, type EventClient } from '../../examples/graphql-clients/events.ts';
import {
  createEnvironment,
  createSubscribe,
} from '../../examples/graphql-clients/relay/environment.ts';
import * as urql from '../../examples/graphql-clients/urql.ts';
import type { Handler } from '../helpers/service.ts';
import { startTrail } from './trail.ts';

/** The first result of an operation, as JSON. */
type First = { readonly data?: unknown; readonly codes: readonly unknown[] };

const toFirst = ({ data, errors = [] }: { data?: unknown; errors?: readonly object[] }): First => ({
  data,
  codes: errors.map((error) => Reflect.get(error, 'extensions').code),
});

/** Sends a document by each client's own way to server-sent events, and reads its first result. */
const CLIENTS: Readonly<Record<string, (events: EventClient, text: string) => Promise<First>>> = {
  'graphql-sse': (events, query) =>
    new Promise((resolve, error) =>
      events.subscribe(
        { query },
        { next: (result) => resolve(toFirst(result)), error, complete: () => {} },
      ),
    ),
  'Apollo Client': (events, text) => {
    const link = apollo.createEventLink(events);
    const client = new ApolloClient({ link, cache: new InMemoryCache() });
    return new Promise((resolve, error) =>
      ApolloLink.execute(link, { query: gql(text) }, { client }).subscribe({
        next: (result) => resolve(toFirst({ ...result })),
        error,
      }),
    );
  },
  Relay: (events, text) =>
    new Promise((resolve, error) =>
      createSubscribe(events)({ text }, {}).subscribe({
        next: (result) => resolve(toFirst(Object(result))),
        error,
      }),
    ),
};

const OPERATIONS = {
  subscription: 'subscription { auditEvents { missed } }',
  query: '{ audit { totalCount } }',
  deletion: 'mutation { deleteApiKey(clientId: "k") { outcome } }',
  'wrong document': 'subscription { nope }',
};

const read: Handler = ({ headers }) =>
  headers.authorization === 'Bearer t' ? { body: { events: [], total: 0 } } : { status: 401 };

describe.each(Object.entries(CLIENTS))('server-sent events with %s', (_, send) => {
  it.each([
    ['subscription', 't', { data: { auditEvents: { missed: false } }, codes: [] }, ['GET']],
    ['query', 't', { data: { audit: { totalCount: 0 } }, codes: [] }, ['GET']],
    ['deletion', 't', { codes: ['BAD_REQUEST'] }, []],
    ['wrong document', 't', { codes: ['GRAPHQL_VALIDATION_FAILED'] }, []],
    ['subscription', 'wrong', { codes: ['UNAUTHENTICATED'] }, ['GET']],
    ['subscription', '', { codes: ['UNAUTHENTICATED'] }, []],
  ] as const)('a %s with the token %s', async (name, token, expected, sent) => {
    await using trail = await startTrail({ read });
    const events = createEventClient(trail.url, token);
    expect(await send(events, OPERATIONS[name])).toMatchObject(expected);
    events.dispose();
    expect(trail.sent()).toEqual(sent);
  });
});

const SUBSCRIPTION = OPERATIONS.subscription;

describe('a subscription', () => {
  it('comes as events with Apollo Client, whose other operations are JSON', async () => {
    await using trail = await startTrail({ read });
    const client = apollo.createClient(trail.url, 't');
    const subscribe = () => client.subscribe({ query: gql(SUBSCRIPTION) });
    const first = await new Promise((resolve, error) => {
      const subscription = subscribe().subscribe({
        next: (result) => {
          resolve(result);
          subscription.unsubscribe();
        },
        error,
      });
    });
    expect(first).toMatchObject({ data: { auditEvents: { missed: false } } });
    expect(await apollo.deleteApiKey(client, 'k')).toMatchObject({
      data: { deleteApiKey: { outcome: 'DELETED' } },
    });
    client.stop();
    expect(trail.sent()).toEqual(['GET', 'DELETE']);
  });

  it.each([
    [SUBSCRIPTION, 't', { data: { auditEvents: { missed: false } } }],
    [SUBSCRIPTION, 'wrong', { codes: ['UNAUTHENTICATED'] }],
    [OPERATIONS['wrong document'], 't', { codes: ['GRAPHQL_VALIDATION_FAILED'] }],
  ])('comes as events with urql: %s with the token %s', async (text, token, expected) => {
    await using trail = await startTrail({ read });
    const client = urql.createClient(trail.url, token);
    const first = await new Promise<First>((resolve) => {
      const { unsubscribe } = client.subscription(text, {}).subscribe(({ data, error }) => {
        const codes = error?.graphQLErrors.map(({ extensions }) => extensions['code']) ?? [];
        resolve({ data, codes });
        setImmediate(() => unsubscribe());
      });
    });
    expect(first).toMatchObject(expected);
  });

  it('comes as events with Relay', async () => {
    await using trail = await startTrail({ read });
    const request = {
      ...({ operationKind: 'subscription', name: 'Any', text: SUBSCRIPTION } as const),
      ...{ id: null, cacheID: 'any', metadata: {} },
    };
    const first = await new Promise((resolve, error) => {
      const network = createEnvironment(trail.url, 't').getNetwork();
      const subscription = network.execute(request, {}, {}).subscribe({
        next: (result) => {
          resolve(result);
          subscription.unsubscribe();
        },
        error,
      });
    });
    expect(first).toEqual({ data: { auditEvents: { missed: false } } });
  });
});
