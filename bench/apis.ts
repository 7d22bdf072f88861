import { isDeepStrictEqual } from 'node:util';
import { type Load, makeTrail, toTrail } from './loads.ts';

/** A request to a peer. wrk.lua replaces {@link PLACEHOLDER} with a different number in each request. */
export type PeerRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  /** JSON, or empty. */
  readonly body: string;
  /** Parsed JSON of the correct response; undefined if it has no body. */
  readonly expected: unknown;
};

/** The API of a peer: its request for a load. */
export type Api = (load: Load) => PeerRequest;

/** Eight characters; wrk.lua puts eight digits here. */
const PLACEHOLDER = 'XXXXXXXX';
const CLIENT_ID = `bench-${PLACEHOLDER}`;

/** Every request has a different token. Its first part selects the trail of the stub service. */
export function authorizationOf({ records }: Load): string {
  return `Bearer ${records}-${PLACEHOLDER}`;
}

/** The service's own REST API, proxied. */
export const rest: Api = ({ first, records }) =>
  first === null ? DELETION : get('', toTrail(records));

/** The REST API with a `first` parameter, and with the fields of {@link graph} in its response. */
export const projected: Api = (load) =>
  load.first === null ? DELETION : get(`?first=${load.first}`, { nodes: nodesOf(load) });

const DELETION: PeerRequest = {
  method: 'DELETE',
  path: `/api/v1/secrets/${CLIENT_ID}`,
  body: '',
  expected: undefined,
};

function get(query: string, expected: unknown): PeerRequest {
  return { method: 'GET', path: `/api/v1/audit${query}`, body: '', expected };
}

const PARTIES = 'actor { id name type } target { id name type }';
const FIELDS = `id occurredAt action outcome ipAddress userAgent ${PARTIES}`;
const REST_FIELDS = `id occurred_at action outcome ip_address user_agent ${PARTIES}`;
/** The fields of Keytrail's audit events. An alias gives it the response of its peers. */
export const KEYTRAIL_FIELDS = FIELDS.replaceAll('{ id', '{ id: identifier');

/** Keytrail's GraphQL schema. */
export const keytrailGraph: Api = (load) => postOperation(KEYTRAIL_FIELDS, load);

/** The same operations in the schema of the peers that are written by hand. */
export const graph: Api = (load) => postOperation(FIELDS, load);

function postOperation(fields: string, load: Load): PeerRequest {
  const { first } = load;
  return first === null
    ? post(
        'mutation Delete($clientId: ID!) { deleteApiKey(clientId: $clientId) { outcome } }',
        { clientId: CLIENT_ID },
        { deleteApiKey: { outcome: 'DELETED' } },
      )
    : post(
        `query Audit($first: Int) { audit(first: $first) { nodes { ${fields} } } }`,
        { first },
        { audit: { nodes: nodesOf(load) } },
      );
}

/** Tailcall's GraphQL schema has the service's field names. It has no pages: `page` returns the whole trail. */
export const tailcallGraph: Api = ({ first, records }) =>
  first === null
    ? postDeletion(null)
    : post(
        `query Audit { audit { events { ${REST_FIELDS} } } }`,
        {},
        { audit: { events: makeTrail(records) } },
      );

/** Hive Gateway's schema has the service's field names, and pages as the field `first`. */
export const hiveGraph: Api = (load) => {
  const { name, first, records } = load;
  if (first === null) return postDeletion('');
  return name === 'page'
    ? post(
        `query Audit($n: Int!) { audit { first(count: $n) { ${REST_FIELDS} } } }`,
        { n: first },
        { audit: { first: makeTrail(records, first) } },
      )
    : tailcallGraph(load);
};

function postDeletion(deleteApiKey: unknown): PeerRequest {
  const mutation = 'mutation Delete($id: String!) { deleteApiKey(client_id: $id) }';
  return post(mutation, { id: CLIENT_ID }, { deleteApiKey });
}

function post(query: string, variables: object, data: unknown): PeerRequest {
  const body = JSON.stringify({ query, variables });
  return { method: 'POST', path: '/graphql', body, expected: { data } };
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

/**
 * Sends a request once and compares every value of the response. Returns the length of its body in bytes.
 * @throws Error if the response is wrong or there is none.
 */
export async function checkResponse(
  port: number,
  request: PeerRequest,
  load: Load,
): Promise<number> {
  const { status, text, body } = await send(port, request, authorizationOf(load));
  if (status >= 300 || !isDeepStrictEqual(body, request.expected))
    throw new Error(`wrong response to ${load.name}: ${status} ${text.slice(0, 300)}`);
  return Buffer.byteLength(text);
}

/**
 * Checks that the service's 401, and its 404 for a deletion, are reported as failures without data.
 * @throws Error if one is reported as a success.
 */
export async function checkFailures(port: number, request: PeerRequest, load: Load): Promise<void> {
  const rename = (part: string) => part.replace(CLIENT_ID, `unknown-${PLACEHOLDER}`);
  const unknownKey = { ...request, path: rename(request.path), body: rename(request.body) };
  const failures = [
    await send(port, request, null),
    ...(load.first === null ? [await send(port, unknownKey, authorizationOf(load))] : []),
  ];
  for (const { status, text, body } of failures) {
    const { data, errors } = Object(body);
    const isFailed = status >= 400 || (Array.isArray(errors) && errors.length > 0);
    if (!isFailed || Object.values(data ?? {}).some((field) => field !== null))
      throw new Error(`a failure is reported as a success: ${status} ${text.slice(0, 300)}`);
  }
}

async function send(port: number, request: PeerRequest, authorization: string | null) {
  const fill = (part: string) => part.replaceAll(PLACEHOLDER, '00000000');
  const response = await fetch(`http://127.0.0.1:${port}${fill(request.path)}`, {
    method: request.method,
    headers: {
      ...(request.body !== '' && { 'content-type': 'application/json' }),
      ...(authorization !== null && { authorization: fill(authorization) }),
    },
    body: fill(request.body) || null,
    signal: AbortSignal.timeout(30_000),
  });
  const text = await response.text();
  const body: unknown = text === '' ? undefined : JSON.parse(text);
  return { status: response.status, text, body };
}
