import { isDeepStrictEqual } from 'node:util';
import { type Load, makeTrail } from './loads.ts';

/** A request to a peer. wrk.lua replaces {@link PLACEHOLDER} with a different number in each request. */
export type PeerRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  /** JSON, or empty. */
  readonly body: string;
};

/** The API of a peer: how it is requested for a load, and the body of the correct response. */
export type Api = {
  request(load: Load): PeerRequest;
  /** Parsed JSON; undefined if the response has no body. */
  expected(load: Load): unknown;
};

/** Eight characters; wrk.lua puts eight digits here. */
export const PLACEHOLDER = 'XXXXXXXX';
/** Every request has a different token. */
export const AUTHORIZATION = `Bearer bench-${PLACEHOLDER}`;
const CLIENT_ID = `bench-${PLACEHOLDER}`;

/** The service's own REST API, proxied. */
export const rest: Api = {
  request: ({ first }) =>
    first === null
      ? { method: 'DELETE', path: `/api/v1/secrets/${CLIENT_ID}`, body: '' }
      : { method: 'GET', path: '/api/v1/audit', body: '' },
  expected: ({ first, records }) =>
    first === null ? undefined : { events: makeTrail(records), total: records },
};

/** The REST API with a `first` parameter, and with the fields of {@link graph} in its response. */
export const projected: Api = {
  request: (load) => {
    const { path, ...proxied } = rest.request(load);
    return { ...proxied, path: load.first === null ? path : `${path}?first=${load.first}` };
  },
  expected: (load) => (load.first === null ? undefined : { nodes: nodesOf(load) }),
};

const PARTIES = 'actor { id name type } target { id name type }';
const FIELDS = `id occurredAt action outcome ipAddress userAgent ${PARTIES}`;
const REST_FIELDS = `id occurred_at action outcome ip_address user_agent ${PARTIES}`;

/** Keytrail's GraphQL schema. An alias gives it the response of its peers. */
export const keytrailGraph: Api = createGraph(FIELDS.replace(/\{ id/g, '{ id: identifier'));

/** The same operations in the schema of the peers that are written by hand. */
export const graph: Api = createGraph(FIELDS);

function createGraph(fields: string): Api {
  return {
    request: ({ first }) =>
      first === null
        ? post(
            'mutation Delete($clientId: ID!) { deleteApiKey(clientId: $clientId) { outcome } }',
            {
              clientId: CLIENT_ID,
            },
          )
        : post(`query Audit($first: Int) { audit(first: $first) { nodes { ${fields} } } }`, {
            first,
          }),
    expected: (load) =>
      load.first === null
        ? { data: { deleteApiKey: { outcome: 'DELETED' } } }
        : { data: { audit: { nodes: nodesOf(load) } } },
  };
}

/**
 * A GraphQL schema with the service's field names.
 * @param deleted what `deleteApiKey` returns.
 * @param pageField the field of the trail that takes a `count`; without one the `page` load returns the whole trail.
 */
export function restNamed(deleted: unknown, pageField?: string): Api {
  const fieldOf = ({ name }: Load) => (name === 'page' && pageField) || 'events';
  return {
    request: (load) => {
      if (load.first === null)
        return post('mutation Delete($id: String!) { deleteApiKey(client_id: $id) }', {
          id: CLIENT_ID,
        });
      const field = fieldOf(load);
      return field === 'events'
        ? post(`query Audit { audit { events { ${REST_FIELDS} } } }`, {})
        : post(`query Audit($n: Int!) { audit { ${field}(count: $n) { ${REST_FIELDS} } } }`, {
            n: load.first,
          });
    },
    expected: (load) => {
      if (load.first === null) return { data: { deleteApiKey: deleted } };
      const field = fieldOf(load);
      const first = field === 'events' ? load.records : load.first;
      return { data: { audit: { [field]: makeTrail(load.records, first) } } };
    },
  };
}

function post(query: string, variables: object): PeerRequest {
  return { method: 'POST', path: '/graphql', body: JSON.stringify({ query, variables }) };
}

function nodesOf({ records, first }: Load): readonly unknown[] {
  return makeTrail(records, first ?? 0).map((record) => ({
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

type PeerResponse = {
  readonly status: number;
  /** Parsed JSON; undefined if there is no body. */
  readonly body: unknown;
  /** Length of the body in bytes. */
  readonly bytes: number;
};

/**
 * Requests a load once and compares every value of the response. Returns the length of its body in bytes.
 * @throws Error if the response is wrong or there is none.
 */
export async function checkResponse(port: number, api: Api, load: Load): Promise<number> {
  const response = await send(port, api.request(load), AUTHORIZATION);
  if (response.status >= 300 || !isDeepStrictEqual(response.body, api.expected(load)))
    throw new Error(`wrong response to ${load.name}: ${describe(response)}`);
  return response.bytes;
}

/**
 * Checks that the service's 401, and its 404 for a deletion, are reported as failures.
 * @throws Error if one is reported as a success.
 */
export async function checkFailures(port: number, api: Api, load: Load): Promise<void> {
  const sound = api.request(load);
  const withoutToken = await send(port, sound, null);
  if (!isFailure(withoutToken))
    throw new Error(`wrong response to ${load.name} without a token: ${describe(withoutToken)}`);
  if (load.first !== null) return;
  const rename = (part: string) => part.replace(CLIENT_ID, `unknown-${PLACEHOLDER}`);
  const unknownKey = { ...sound, path: rename(sound.path), body: rename(sound.body) };
  const notFound = await send(port, unknownKey, AUTHORIZATION);
  if (!isFailure(notFound))
    throw new Error(`wrong response to the deletion of an unknown key: ${describe(notFound)}`);
}

/** An HTTP or GraphQL error without data. */
function isFailure({ status, body }: PeerResponse): boolean {
  const { data, errors } = Object(body);
  const isFailed = status >= 400 || (Array.isArray(errors) && errors.length > 0);
  return isFailed && Object.values(data ?? {}).every((field) => field === null);
}

async function send(
  port: number,
  { method, path, body }: PeerRequest,
  authorization: string | null,
): Promise<PeerResponse> {
  const fill = (part: string) => part.replaceAll(PLACEHOLDER, '00000000');
  const response = await fetch(`http://127.0.0.1:${port}${fill(path)}`, {
    method,
    headers: {
      ...(body !== '' && { 'content-type': 'application/json' }),
      ...(authorization !== null && { authorization: fill(authorization) }),
    },
    body: body === '' ? null : fill(body),
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  return {
    status: response.status,
    body: text === '' ? undefined : JSON.parse(text),
    bytes: Buffer.byteLength(text),
  };
}

function describe({ status, body }: PeerResponse): string {
  return `${status}, ${(JSON.stringify(body) ?? 'no body').slice(0, 300)}`;
}
