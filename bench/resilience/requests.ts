import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import type { Client, ExpectedResponse, GraphQLRequest, GraphQLResponse } from './client.ts';
import { LARGE_BYTES, RECORDS } from './service.ts';

/** A request for one operation, with the data of its success. */
export type OperationRequest = GraphQLRequest & {
  readonly field: 'audit' | 'deleteApiKey' | 'login';
  readonly data: unknown;
};

/**
 * Creates a request from an id, which is also its token and its client id. The part before the dot selects how the
 * service behaves.
 */
type Operation = (id: string) => OperationRequest;

const JSON_TYPE = ['content-type', 'application/json'];
const authorization = (id: string) => ['authorization', `Bearer ${id}`];

const auditPage = operation(
  'audit',
  'query ($first: Int) { audit(first: $first) { totalCount nodes { id outcome actor { name } } pageInfo { hasNextPage } } }',
  () => ({ first: 5 }),
  (id) => ({
    totalCount: RECORDS,
    nodes: ['even', 'odd', 'even', 'odd', 'even'].map((name, index) => ({
      id: `${id}.${index}`,
      outcome: 'SUCCESS',
      actor: { name },
    })),
    pageInfo: { hasNextPage: true },
  }),
);

const filteredAudit = operation(
  'audit',
  'query ($filter: AuditFilter) { audit(filter: $filter) { nodes { id occurredAt } } }',
  () => ({ filter: { actor: 'odd', actions: ['key.delete'] } }),
  (id) => ({
    nodes: Array.from({ length: RECORDS / 2 }, (_, index) => ({
      id: `${id}.${2 * index + 1}`,
      occurredAt: '2026-11-21T06:20:33.156Z',
    })),
  }),
);

const deleteApiKey = operation(
  'deleteApiKey',
  'mutation ($clientId: ID!) { deleteApiKey(clientId: $clientId) { outcome apiKey { clientId } raw } }',
  (id) => ({ clientId: id }),
  (id) => ({ outcome: 'DELETED', apiKey: { clientId: id }, raw: { deleted: id, by: id } }),
);

const login = operation(
  'login',
  'mutation ($clientId: ID!, $clientSecret: String!) { login(clientId: $clientId, credential: {clientSecret: $clientSecret}) { accessToken refreshToken tokenType expiresAt } }',
  (id) => ({ clientId: id, clientSecret: `secret.${id}` }),
  (id) => ({
    accessToken: `access.${id}`,
    refreshToken: `refresh.secret.${id}`,
    tokenType: 'Bearer',
    expiresAt: null,
  }),
);

const AUDITS = [auditPage, filteredAudit];
/** All operations. */
export const OPERATIONS: readonly Operation[] = [...AUDITS, deleteApiKey, login];

function operation(
  field: OperationRequest['field'],
  query: string,
  variables: (id: string) => object,
  data: (id: string) => unknown,
): Operation {
  return (id) => ({
    id,
    field,
    headers: field === 'login' ? JSON_TYPE : [...JSON_TYPE, ...authorization(id)],
    ...document(query, variables(id)),
    data: { [field]: data(id) },
  });
}

/** A kind of request. */
export type RequestKind = {
  readonly name: string;
  /**
   * Sends a request with a number in its id. Resolves to the response and the correct one, or to null if the client
   * disconnects before.
   */
  readonly send: (
    client: Client,
    number: number,
  ) => Promise<readonly [GraphQLResponse, ExpectedResponse] | null>;
};

/** Requests that succeed. */
export const NORMAL: readonly RequestKind[] = [
  succeeds('audit with a page', 'normal', [auditPage]),
  succeeds('audit with a filter', 'normal', [filteredAudit]),
  succeeds('deleteApiKey', 'normal', [deleteApiKey]),
  succeeds('login', 'normal', [login]),
];

/** Requests that Keytrail refuses, and documents that differ in every request. */
const INVALID: readonly RequestKind[] = [
  changed('malformed JSON', { status: 400, code: 'BAD_REQUEST' }, ({ body }) => ({
    body: body.slice(0, -1),
  })),
  changed('wrong content type', { status: 415, code: 'BAD_REQUEST' }, ({ id }) => ({
    headers: ['content-type', 'text/plain', ...authorization(id)],
  })),
  changed('unparsable document', { code: 'GRAPHQL_PARSE_FAILED' }, () => document('{ audit {')),
  changed('invalid document', { code: 'GRAPHQL_VALIDATION_FAILED' }, () =>
    document('{ audit(first: "five") { totalCount } }'),
  ),
  changed('unknown field', { code: 'GRAPHQL_VALIDATION_FAILED' }, () =>
    document('{ audit { nodes { colour } } }'),
  ),
  changed('document that is too deep', { code: 'OPERATION_TOO_COMPLEX' }, () =>
    document(`${'{ audit '.repeat(50)}${'}'.repeat(50)}`),
  ),
  changed('wrong variables', { code: 'BAD_USER_INPUT' }, () =>
    document('query ($first: Int) { audit(first: $first) { totalCount } }', { first: 'five' }),
  ),
  changed(
    'no token',
    { data: { audit: null }, code: 'UNAUTHENTICATED', reason: 'TOKEN_MISSING' },
    () => ({ headers: JSON_TYPE }),
  ),
  changed(
    'two Authorization headers',
    { status: 400, code: 'BAD_REQUEST', hasRequestId: false },
    ({ id, headers }) => ({ headers: [...headers, ...authorization(id)] }),
  ),
  changed('distinct documents of 3 KB', { data: { audit: { nodes: [] } } }, ({ id }) =>
    document(`{ audit(filter: {actor: "${id.padEnd(3000, id)}"}) { nodes { id } } }`),
  ),
  changed('distinct unparsable documents of 30 KB', { code: 'GRAPHQL_PARSE_FAILED' }, ({ id }) =>
    document(`{ audit(filter: {actor: "${id.padEnd(30_000, id)}`),
  ),
];

/** Clients that disconnect before they have a response. */
const DISCONNECTING: readonly RequestKind[] = [
  {
    name: 'client sends a part of a request',
    send: async ({ url }, number) => {
      const { body, headers } = auditPage(`normal.${number}`);
      const lines = headers.map((part, index) => (index % 2 === 0 ? `${part}: ` : `${part}\r\n`));
      const text = `POST /graphql HTTP/1.1\r\nhost: ${url.host}\r\n${lines.join('')}content-length: ${body.length}\r\n\r\n${body}`;
      const socket = connect(Number(url.port), url.hostname);
      await once(socket, 'connect');
      socket.on('error', () => {}); // Keytrail may close the connection first
      socket.write(text.slice(0, Math.ceil(Math.random() * (text.length - 1))));
      await wait(Math.random() * 50);
      if (Math.random() < 0.5) socket.resetAndDestroy();
      else socket.destroy();
      return null;
    },
  },
  {
    name: 'client disconnects while it waits',
    send: async ({ post }, number) => {
      const signal = AbortSignal.timeout(Math.floor(Math.random() * 300));
      const response = await post(pick(OPERATIONS)(`late.${number}`), signal).catch(() => null);
      if (response !== null) throw new Error('Keytrail responded before the service.');
      return null;
    },
  },
  {
    name: 'client disconnects during a response of 5 MB',
    send: async ({ send }, number) => {
      const query = document('{ audit(first: 1) { raw } }');
      const { body } = await send({ ...auditPage(`large.${number}`), ...query });
      for await (const chunk of body) {
        if (!String(chunk).startsWith('{"data":{')) throw new Error('The response has no data.');
        break; // closes the connection
      }
      return null;
    },
  },
];

/** Requests whose response from the service is a failure, succeeds at the second attempt, or has 5 MB. */
const FAILING_SERVICE: readonly RequestKind[] = [
  fails('truncated response', 'truncate', unread('TRUNCATED'), 'OUTCOME_UNKNOWN'),
  fails('status 500', '500', { code: 'UPSTREAM_ERROR' }),
  fails('status 503', '503', { code: 'UPSTREAM_ERROR' }),
  fails('HTML', 'html', { code: 'UPSTREAM_BAD_RESPONSE', reason: 'NOT_JSON' }),
  fails('not HTTP', 'ssh', unread('NOT_HTTP'), 'OUTCOME_UNKNOWN'),
  fails('connection reset', 'reset', { code: 'UPSTREAM_UNAVAILABLE' }, 'OUTCOME_UNKNOWN'),
  fails('slow body until the deadline', 'drip', { code: 'UPSTREAM_TIMEOUT' }, 'OUTCOME_UNKNOWN'),
  succeeds('read with one connection reset', 'reset-once', AUDITS),
  succeeds('read with one status 503', '503-once', AUDITS),
  succeeds(`response of ${LARGE_BYTES / 1e6} MB`, 'large', [filteredAudit]),
];

/** Requests with a fault of the client or of the service. */
export const FAULTY: readonly RequestKind[] = [...INVALID, ...DISCONNECTING, ...FAILING_SERVICE];

function succeeds(name: string, behaviour: string, operations: readonly Operation[]): RequestKind {
  return {
    name,
    send: async ({ post }, number) => {
      const request = pick(operations)(`${behaviour}.${number}`);
      return [await post(request), { data: request.data }];
    },
  };
}

/** The failure of a read whose response cannot be read. */
function unread(reason: string) {
  return { code: 'UPSTREAM_BAD_RESPONSE', reason };
}

/** Logins and deletions may fail with another code than reads. */
function fails(
  name: string,
  behaviour: string,
  error: { readonly code: string; readonly reason?: string },
  mutationCode = error.code,
): RequestKind {
  return {
    name,
    send: async ({ post }, number) => {
      const request = pick(OPERATIONS)(`${behaviour}.${number}`);
      const { field } = request;
      const code = field === 'audit' ? error.code : mutationCode;
      return [await post(request), { data: { [field]: null }, ...error, code }];
    },
  };
}

function changed(
  name: string,
  expected: ExpectedResponse,
  change: (valid: GraphQLRequest) => Partial<GraphQLRequest>,
): RequestKind {
  return {
    name,
    send: async ({ post }, number) => {
      const valid = auditPage(`invalid.${number}`);
      return [await post({ ...valid, ...change(valid) }), expected];
    },
  };
}

function document(query: string, variables = {}): Pick<GraphQLRequest, 'body'> {
  return { body: JSON.stringify({ query, variables }) };
}

/** One item at random. */
export function pick<T>(items: readonly T[]): T {
  const item = items[Math.floor(Math.random() * items.length)];
  if (item === undefined) throw new RangeError('The list is empty.');
  return item;
}
