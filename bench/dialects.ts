import type { Load } from './loads.ts';
import { makeTrail, type TrailRecord } from './records.ts';

/** A request to a peer. {@link MARK} in it stands for what is another number in each. */
export type Ask = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  /** JSON; empty where there is none. */
  readonly body: string;
};

/** How a peer is asked for a load. */
export type Dialect = {
  ask(load: Load): Ask;
  /** All that a right answer holds; undefined where it has no body. */
  expect(load: Load): unknown;
};

/** Stands for eight digits. */
export const MARK = 'XXXXXXXX';

/** The token of each request. */
export const AUTHORIZATION = `Bearer bench-${MARK}`;

/** The client id of each deletion; the stub knows all of this form. */
export const CLIENT_ID = `bench-${MARK}`;

/** The service's own interface, its answers handed on as they are. */
export const rest: Dialect = {
  ask: ({ first }) =>
    first === null
      ? { method: 'DELETE', path: `/api/v1/secrets/${CLIENT_ID}`, body: '' }
      : { method: 'GET', path: '/api/v1/audit', body: '' },
  expect: ({ first, records }) =>
    first === null ? undefined : { events: makeTrail(records), total: records },
};

/** The same, where the answer has only what is asked for, under the names of {@link graph}. */
export const projected: Dialect = {
  ask: (load) => {
    const ask = rest.ask(load);
    return load.first === null ? ask : { ...ask, path: `${ask.path}?first=${load.first}` };
  },
  expect: (load) => (load.first === null ? undefined : { nodes: nodesOf(load, load.first) }),
};

const FIELDS =
  'id occurredAt action outcome ipAddress userAgent actor { identifier name type } target { identifier name type }';

/** Keytrail's schema. */
export const graph: Dialect = {
  ask: ({ first }) =>
    first === null
      ? toAsk('mutation Delete($clientId: ID!) { deleteApiKey(clientId: $clientId) { outcome } }', {
          clientId: CLIENT_ID,
        })
      : toAsk(`query Audit($first: Int) { audit(first: $first) { nodes { ${FIELDS} } } }`, {
          first,
        }),
  expect: (load) =>
    load.first === null
      ? { data: { deleteApiKey: { outcome: 'DELETED' } } }
      : { data: { audit: { nodes: nodesOf(load, load.first) } } },
};

const OWN_FIELDS =
  'id occurred_at action outcome ip_address user_agent actor { identifier name type } target { identifier name type }';

/** A schema that repeats the service's names; with what it answers when a key is gone. */
export const mirrored = (options: {
  readonly deleted: unknown;
  /** The field of the trail that takes `count`; without one the window is the whole trail. */
  readonly window: string | null;
}): Dialect => {
  const fieldOf = (load: Load) => (load.name === 'window' && options.window) || 'events';
  return {
    ask: (load) => {
      if (load.first === null)
        return toAsk('mutation Delete($id: String!) { deleteApiKey(client_id: $id) }', {
          id: CLIENT_ID,
        });
      const field = fieldOf(load);
      return field === 'events'
        ? toAsk(`query Audit { audit { events { ${OWN_FIELDS} } } }`, {})
        : toAsk(`query Audit($n: Int!) { audit { ${field}(count: $n) { ${OWN_FIELDS} } } }`, {
            n: load.first,
          });
    },
    expect: (load) => {
      if (load.first === null) return { data: { deleteApiKey: options.deleted } };
      const field = fieldOf(load);
      const trail = makeTrail(load.records);
      const events = field === 'events' ? trail : trail.slice(0, load.first);
      return { data: { audit: { [field]: events } } };
    },
  };
};

function toAsk(query: string, variables: object): Ask {
  return { method: 'POST', path: '/graphql', body: JSON.stringify({ query, variables }) };
}

function nodesOf({ records }: Load, first: number): readonly unknown[] {
  return makeTrail(records)
    .slice(0, first)
    .map((record: TrailRecord) => ({
      id: record.id,
      occurredAt: record.occurred_at,
      action: record.action,
      outcome: record.outcome.toUpperCase(),
      ipAddress: record.ip_address,
      userAgent: record.user_agent,
      actor: record.actor,
      target: record.target,
    }));
}
