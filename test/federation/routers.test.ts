import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { ErrorCode } from '../../src/errors.ts';
import { codeOf, type Overrides } from '../helpers/gateway.ts';
import type { Handler, ReceivedRequest, ServiceResponse } from '../helpers/service.ts';
import { ROUTERS } from './routers.ts';
import {
  ask,
  type Graph,
  post,
  type RequestOptions,
  startGraph,
  wireValues,
} from './supergraph.ts';

/** Valid but unusual, so that a router that normalizes the header fails the test. */
const AUTHORIZATION = 'bEaReR AZaz09-._~+/dG9rZW4==';

const JOIN =
  '{ apiKeys(first: 50) { clientId owner audit(first: 2) { totalCount nodes { id } } } }';
const AUDIT = 'query ($filter: AuditFilter) { audit(filter: $filter) { totalCount } }';
const DELETE = 'mutation { deleteApiKey(clientId: "key-6") { outcome } }';
const LOGIN = `mutation ($credential: LoginCredential!) {
  login(clientId: "key-6", credential: $credential) { accessToken refreshToken tokenType }
}`;

/** The first fifty keys of the owners subgraph. */
const KEYS = Array.from(
  { length: 50 },
  (_, index) => ['demo-admin', 'demo-reports', 'demo-old-ci'][index] ?? `key-${index + 1}`,
);

/** 200 events, four for each of these keys. */
const TRAIL = Array.from({ length: 200 }, (_, index) => ({
  id: `event-${index}`,
  actor: { id: KEYS[index % KEYS.length] },
}));

type Key = {
  readonly clientId: string;
  readonly owner: string | null;
  readonly audit: { readonly totalCount: number; readonly nodes: readonly { id: string }[] } | null;
};

/** A failure of the service, and the operation that meets it. */
type Fault = RequestOptions & {
  readonly query: string;
  readonly response: Handler | ServiceResponse;
  readonly overrides?: Overrides;
  /** Where a router's code is that is not Keytrail's. */
  readonly row?: 'wrongVariable' | 'wrongCredential' | 'tooComplex';
};

const SECRET = { credential: { clientSecret: 's3cret' } };
const TOKEN = { authorization: AUTHORIZATION };

const reading = (response: Handler | ServiceResponse): Fault => ({
  query: AUDIT,
  response,
  ...TOKEN,
});
const joining = (response: Handler | ServiceResponse): Fault => ({
  query: JOIN,
  response,
  ...TOKEN,
});
const deleting = (response: Handler | ServiceResponse): Fault => ({
  query: DELETE,
  response,
  ...TOKEN,
});
const loggingIn = (response: Handler | ServiceResponse): Fault => ({
  query: LOGIN,
  variables: SECRET,
  response,
});

const dropConnection: Handler = (_, response) => {
  response.destroy();
  return undefined;
};
const noResponse: Handler = () => undefined;
// Long enough to send a request on a busy machine.
const shortTimeout: Overrides = { upstream: { timeoutMs: 800 } };
const redirect: ServiceResponse = { status: 302, headers: { location: 'http://127.0.0.1:9/' } };

/** Codes that the router itself returns, and codes that no case below raises. */
type NotFromKeytrail =
  | 'BAD_REQUEST'
  | 'PERSISTED_QUERY_NOT_SUPPORTED'
  | 'GRAPHQL_PARSE_FAILED'
  | 'GRAPHQL_VALIDATION_FAILED'
  | 'OVERLOADED'; // tested separately, because Keytrail must be closed for it

const FAULTS: Readonly<
  Record<Exclude<ErrorCode, NotFromKeytrail>, Readonly<Record<string, Fault>>>
> = {
  BAD_USER_INPUT: {
    'status 400': reading({ status: 400 }),
    'status 422': loggingIn({ status: 422 }),
    'an argument out of range': { ...reading({}), query: '{ audit(first: 0) { totalCount } }' },
    'a variable that is not a date-time': {
      ...reading({}),
      variables: { filter: { since: 'yesterday' } },
      row: 'wrongVariable',
    },
    'a credential with both fields': {
      ...loggingIn({}),
      variables: { credential: { clientSecret: 's3cret', refreshToken: 'r' } },
      row: 'wrongCredential',
    },
    'a credential with neither field': {
      ...loggingIn({}),
      variables: { credential: {} },
      row: 'wrongCredential',
    },
  },
  OPERATION_TOO_COMPLEX: {
    'eleven trails in one query': {
      ...reading({}),
      query: `{ ${Array.from({ length: 11 }, (_, i) => `a${i}: audit { totalCount }`).join(' ')} }`,
      row: 'tooComplex',
    },
    'the trail of the key of each event': {
      ...reading({}),
      query: '{ audit { nodes { actor { apiKey { audit { totalCount } } } } } }',
      row: 'tooComplex',
    },
    'the trail of the key of each event of each key': {
      ...reading({}),
      query: '{ apiKeys(first: 2) { audit { nodes { target { apiKey { audit { raw } } } } } } }',
      row: 'tooComplex',
    },
  },
  UNAUTHENTICATED: {
    'status 401': reading({ status: 401 }),
    'status 401 for many keys': joining({ status: 401 }),
    'status 401 for a login': loggingIn({ status: 401 }),
    'no Authorization': { query: JOIN, response: {} },
    'an Authorization that is not a bearer token': { ...deleting({}), authorization: 'Basic dTpw' },
  },
  FORBIDDEN: { 'status 403': deleting({ status: 403 }) },
  NOT_FOUND: {
    'status 404': deleting({ status: 404 }),
    'status 410': deleting({ status: 410 }),
  },
  CONFLICT: { 'status 409': deleting({ status: 409 }) },
  RATE_LIMITED: {
    'status 429': reading({ status: 429, headers: { 'retry-after': '17' } }),
    'status 429 for many keys': joining({ status: 429, headers: { 'retry-after': '17' } }),
    'status 429 for a login': loggingIn({ status: 429 }),
  },
  UPSTREAM_TIMEOUT: {
    'status 504': deleting({ status: 504 }),
    'no response in time': { ...reading(noResponse), overrides: shortTimeout },
  },
  UPSTREAM_UNAVAILABLE: { 'a lost connection': reading(dropConnection) },
  UPSTREAM_ERROR: {
    'status 500': reading({ status: 500 }),
    'status 502': deleting({ status: 502 }),
    'status 503': loggingIn({ status: 503 }),
    'status 503 for many keys': joining({ status: 503 }),
    'a 200 that reports a failure': deleting({ body: { success: false } }),
  },
  UPSTREAM_BAD_RESPONSE: {
    'truncated JSON': joining({ body: '[{"id": 1}' }),
    'a redirect': deleting(redirect),
    'a login without a token': loggingIn({ body: {} }),
  },
  OUTCOME_UNKNOWN: {
    'a deletion whose response is lost': deleting(dropConnection),
    'a deletion whose response is late': { ...deleting(noResponse), overrides: shortTimeout },
    'a login whose response is lost': loggingIn(dropConnection),
  },
  INTERNAL_SERVER_ERROR: {
    'a bug': {
      ...loggingIn({ body: { access_token: 'a', expires_in: 60 } }),
      overrides: {
        now: () => {
          throw new TypeError('the clock is broken');
        },
      },
    },
  },
};

const CASES = Object.entries(FAULTS).flatMap(([code, faults]) =>
  Object.entries(faults).map(([what, fault]) => ({ code, what, fault })),
);

function requestLines(seen: readonly ReceivedRequest[]): readonly string[] {
  return seen.map(({ method, url }) => `${method} ${url}`);
}

for (const [name, { missing }] of Object.entries(ROUTERS))
  if (missing !== undefined) process.stderr.write(`${name} is not tested: ${missing}.\n`);

describe.each(Object.entries(ROUTERS))('%s', (_, { start, forwarded, missing }) => {
  beforeEach(({ skip }) => skip(missing !== undefined, missing));

  // One router for all tests but those that close something: its start takes most of the time. Each has its own Keytrail.
  let shared: Graph | undefined;
  afterAll(() => shared?.[Symbol.asyncDispose]());
  const serve = async (
    response: Handler | ServiceResponse = { body: [] },
    overrides?: Overrides,
  ): Promise<Graph> => {
    shared ??= await startGraph(start);
    await shared.replaceKeytrail(response, overrides);
    return shared;
  };

  it('joins fifty keys with their own trails by one request to the service', async () => {
    const graph = await serve({ body: TRAIL });
    const { data, errors } = await graph.ask<{ apiKeys: readonly Key[] }>(JOIN, TOKEN);
    expect(errors).toBeUndefined();
    expect(data?.apiKeys).toEqual(
      KEYS.map((clientId, index) => ({
        clientId,
        owner: `team-${(index % 7) + 1}`,
        audit: {
          totalCount: 4,
          nodes: [{ id: `event-${index}` }, { id: `event-${index + 50}` }],
        },
      })),
    );
    expect(requestLines(graph.service.seen)).toEqual(['GET /api/v1/audit']);
  });

  it(`joins the owners of the keys of 200 events by one request with ${forwarded.references} references`, async () => {
    const contract = { audit: { event: { actor: { apiKey: true } } } } as const;
    const graph = await serve({ body: TRAIL }, { contract });
    const { data, errors } = await graph.ask(
      '{ audit(first: 200) { nodes { id actor { apiKey { owner } } } } }',
      TOKEN,
    );
    expect(errors).toBeUndefined();
    const nodes = TRAIL.map(({ id }, index) => ({
      id,
      actor: { apiKey: { owner: `team-${((index % KEYS.length) % 7) + 1}` } },
    }));
    expect(data).toEqual({ audit: { nodes } });
    expect(requestLines(graph.service.seen)).toEqual(['GET /api/v1/audit']);
    expect(graph.keytrailRequests()).toHaveLength(1);
    const owners = graph.ownersQueries().map(({ body }) => body.match(/"clientId":/g)?.length);
    expect(owners.map(String)).toEqual([forwarded.references]);
  });

  it('joins the owner of a target of type api_key, and of no actor of type client', async () => {
    const actor = { id: 'demo-admin', type: 'client' };
    const target = { id: 'demo-reports', type: 'api_key' };
    const graph = await serve({ body: [{ actor, target }] });
    const { data } = await graph.ask(
      '{ audit { nodes { actor { apiKey { owner } } target { apiKey { owner } } } } }',
      TOKEN,
    );
    expect(data).toEqual({
      audit: { nodes: [{ actor: { apiKey: null }, target: { apiKey: { owner: 'team-2' } } }] },
    });
    expect(
      graph
        .ownersQueries()
        .map(({ body }) => body)
        .join(),
    ).not.toContain('demo-admin');
  });

  it('forwards Authorization byte for byte to Keytrail, and to no other subgraph', async () => {
    const graph = await serve({ body: TRAIL });
    await graph.ask(JOIN, TOKEN);
    await graph.ask(DELETE, TOKEN);
    const sent = graph.service.seen.map((seen) => wireValues(seen.rawHeaders, 'authorization'));
    expect(sent).toEqual([[AUTHORIZATION], [AUTHORIZATION]]);
    const owners = graph.ownersQueries().map(({ rawHeaders }) => rawHeaders.join());
    expect(owners).toEqual([expect.not.stringMatching(/authorization|AZaz09/i)]);
  });

  it('tells Keytrail the address and the user agent of a client, and no other subgraph', async () => {
    const graph = await serve({ body: TRAIL }, { trustedProxies: 1 });
    const headers = { 'x-forwarded-for': '203.0.113.7', 'user-agent': 'audit-console/2.1' };
    await graph.ask(JOIN, { ...TOKEN, headers });
    await graph.ask(DELETE, { ...TOKEN, headers });
    const learned = ['x-forwarded-for', 'user-agent', 'via'].map((name) =>
      graph.service.seen.map((seen) => wireValues(seen.rawHeaders, name)),
    );
    const each = (value: string) => [[value], [value]];
    expect(learned).toEqual([
      ...[each('203.0.113.7'), each('audit-console/2.1'), each('1.1 keytrail')],
    ]);
    const owners = graph.ownersQueries().map(({ rawHeaders }) => rawHeaders.join());
    expect(owners).toEqual([expect.not.stringMatching(/203\.0\.113|audit-console/)]);
  });

  it('sends the traceparent and the tracestate of the client, once each', async () => {
    const graph = await serve({ body: TRAIL });
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const headers = { traceparent, tracestate: 'vendor=1' };
    for (const query of [JOIN, DELETE]) await graph.ask(query, { ...TOKEN, headers });
    expect(graph.service.seen).toHaveLength(2);
    for (const { rawHeaders } of graph.service.seen)
      for (const [name, value] of Object.entries(headers))
        expect(wireValues(rawHeaders, name), name).toEqual([value]);
  });

  it('lets 14 clients log in within a minute', async () => {
    const overrides = { trustedProxies: 1, loginRateLimit: 1 };
    const graph = await serve({ body: { access_token: 'a' } }, overrides);
    const variables = { credential: { clientSecret: 's' } };
    const query = (id: number) => LOGIN.replace('key-6', `client-${id}`);
    const ids = Array.from({ length: 14 }, (_, index) => index + 1);
    const results = await Promise.all(
      ids.map((id) =>
        graph.ask(query(id), { variables, headers: { 'x-forwarded-for': `203.0.113.${id}` } }),
      ),
    );
    expect(results.map(({ errors }) => errors)).toEqual(ids.map(() => undefined));
  });

  it('returns each client its own trail when two send the same query at once', async () => {
    const { promise: both, resolve: release } = Promise.withResolvers<void>();
    const arrived = new Set<string | undefined>();
    const graph = await serve(async ({ headers: { authorization } }) => {
      if (arrived.add(authorization).size === 2) release();
      await both; // never resolves if the router deduplicates the two requests
      return { body: [{ id: authorization }] };
    });
    const results = ['Bearer ann', 'Bearer bob'].map((authorization) =>
      graph.ask('{ audit { nodes { id } } }', { authorization }),
    );
    expect((await Promise.all(results)).map(({ data }) => data)).toEqual([
      { audit: { nodes: [{ id: 'Bearer ann' }] } },
      { audit: { nodes: [{ id: 'Bearer bob' }] } },
    ]);
  });

  // Compares with Keytrail's own response: `message`, `retryable`, `reason`, `upstream` and
  // `retryAfterSeconds` are forwarded too.
  it.each(
    CASES.map((each) => ({
      ...each,
      returned: each.fault.row === undefined ? each.code : forwarded[each.fault.row],
    })),
  )('returns $returned after $what', async ({ code, fault, returned }) => {
    const { query, response, overrides, row: _, ...options } = fault;
    const graph = await serve(response, overrides);
    const routed = await graph.ask(query, options);
    expect(codeOf(routed)).toBe(returned);
    expect(routed.status).toBe(200);
    expect(routed.text).not.toMatch(/stacktrace|node_modules|AZaz09|s3cret/);
    const sent = graph.service.seen.length;
    expect(sent).toBeLessThanOrEqual(query.startsWith('mutation') ? 1 : 2); // a read is retried once

    // JOIN and AUDIT fail for the same reason: the trail cannot be read.
    const directQuery = query === JOIN ? AUDIT : query;
    const direct = await ask(graph.keytrail, directQuery, options);
    expect(codeOf(direct)).toBe(code);
    expect(graph.service.seen).toHaveLength(2 * sent);
    const [error] = routed.errors ?? [];
    if (returned !== code) {
      expect(error?.extensions).toEqual({ code: returned });
      return;
    }
    const [directError] = direct.errors ?? [];
    const field = query === LOGIN ? 'login' : 'audit';
    const variable = forwarded.variable.replace('FIELD', field).replace('NAME', '$2');
    expect(error?.message).toBe(
      directError?.message.replaceAll(/(?<=")(\$?)(filter|credential)\b/g, `$1${variable}`),
    );
    expect(error?.extensions).toEqual({
      ...directError?.extensions,
      requestId: expect.stringMatching(/^[\da-f-]{36}$/),
      ...(forwarded.serviceName !== 'none' && { serviceName: forwarded.serviceName }),
    });
  });

  it('forwards retryAfterSeconds', async () => {
    const response = { status: 429, headers: { 'retry-after': '17' } };
    const graph = await serve(response);
    const { errors } = await graph.ask(JOIN, TOKEN);
    expect(errors).toHaveLength(50);
    for (const { extensions } of errors ?? []) {
      expect(extensions).toMatchObject({ retryable: true, retryAfterSeconds: 17 });
    }
  });

  it(`returns ${forwarded.path} as the path of the error of the second key`, async () => {
    const graph = await serve({ status: 403 });
    const { errors = [] } = await graph.ask(
      '{ apiKeys(first: 2) { audit { totalCount } } }',
      TOKEN,
    );
    expect(errors).toHaveLength(2);
    expect(errors[1]?.path?.join('.')).toBe(forwarded.path);
  });

  it(`returns ${forwarded.overloaded} from a Keytrail that responds 503`, async () => {
    await using graph = await startGraph(start);
    await graph.closeKeytrail();
    const result = await graph.ask('{ a: audit { totalCount } b: audit { totalCount } }', TOKEN);
    expect(codeOf(result)).toBe(forwarded.overloaded);
    expect(result.status).toBe(200);
    expect(/"data":(\{.*?\})/.exec(result.text)?.[1] ?? 'none').toBe(forwarded.data);
    expect(result.text).not.toContain(graph.keytrail);
  });

  it('shows neither a secret nor an address when Keytrail cannot be reached', async () => {
    await using graph = await startGraph(start);
    await graph.stopKeytrail();
    const result = await graph.ask(LOGIN, { variables: SECRET, ...TOKEN });
    expect(codeOf(result)).toBe(forwarded.unreachable);
    expect(result.text).not.toMatch(/s3cret|AZaz09|127\.0\.0\.1|ECONNREFUSED/);
  });

  it('does not show the address of a subgraph that cannot be reached', async () => {
    await using graph = await startGraph(start, { body: TRAIL });
    await graph.stopOwners();
    const query = '{ audit { totalCount } apiKeys(first: 1) { owner } }';
    const { text, errors } = await graph.ask(query, TOKEN);
    expect(errors?.length).toBeGreaterThan(0);
    expect(text).not.toMatch(/127\.0\.0\.1|ECONNREFUSED/);
  });

  it('reports that the router must forward Authorization if none arrives', async () => {
    const graph = await serve({ body: TRAIL });
    const { errors } = await graph.ask('{ audit { totalCount } }');
    expect(errors?.[0]?.message).toMatch(
      /No Authorization header .* router before the gateway forward it/,
    );
    expect(graph.service.seen).toHaveLength(0);
  });

  it('rejects invalid requests, syntax errors and invalid documents itself', async () => {
    const graph = await serve();
    const [unknownField, syntaxError, invalidRequest] = [
      await graph.ask('{ nope }', TOKEN),
      await graph.ask('{', TOKEN),
      await post(graph.router, '[]', TOKEN),
    ];
    expect(codeOf(unknownField)).toBe(forwarded.unknownField);
    expect(codeOf(syntaxError)).toBe(forwarded.syntaxError);
    expect(codeOf(invalidRequest)).toBe('BAD_REQUEST');
    expect([unknownField, syntaxError].map(({ status }) => String(status))).toEqual([
      forwarded.invalidStatus,
      forwarded.invalidStatus,
    ]);
    expect(graph.keytrailRequests()).toEqual([]);
  });

  it(`returns for two deletions in one mutation: ${forwarded.twoDeletions}`, async () => {
    const graph = await serve({ status: 204 });
    const fields = ['a', 'b'].map((key) => `${key}: deleteApiKey(clientId: "${key}") { outcome }`);
    const { data, ...result } = await graph.ask(`mutation { ${fields.join(' ')} }`, TOKEN);
    if (forwarded.twoDeletions === 'both deleted') {
      expect(data).toEqual({ a: { outcome: 'DELETED' }, b: { outcome: 'DELETED' } });
      expect(requestLines(graph.service.seen)).toEqual([
        'DELETE /api/v1/secrets/a',
        'DELETE /api/v1/secrets/b',
      ]);
    } else {
      expect(codeOf(result)).toBe(forwarded.twoDeletions);
      expect(graph.service.seen).toHaveLength(0);
    }
  });

  it(`returns for a client ID of 20 digits, not as a string: ${forwarded.longInteger}`, async () => {
    const graph = await serve({ status: 204 });
    const query = 'mutation ($key: ID!) { deleteApiKey(clientId: $key) { outcome } }';
    const body = JSON.stringify({ query, variables: { key: 0 } });
    const result = await post(graph.router, body.replace(':0}', ':12345678901234567890}'), TOKEN);
    expect(result.text).not.toContain(graph.keytrail);
    if (forwarded.longInteger === 'rounded') {
      expect(requestLines(graph.service.seen)).toEqual([
        'DELETE /api/v1/secrets/12345678901234567000',
      ]);
    } else {
      expect(codeOf(result)).toBe(forwarded.longInteger);
      expect(graph.service.seen).toHaveLength(0);
    }
  });

  it('returns the owners when the trail fails', async () => {
    const graph = await serve({ status: 403 });
    const { data, errors } = await graph.ask<{ apiKeys: readonly Key[]; audit: unknown }>(
      '{ apiKeys(first: 2) { owner audit { totalCount } } audit { totalCount } }',
      TOKEN,
    );
    expect(data).toEqual({
      apiKeys: [
        { owner: 'team-1', audit: null },
        { owner: 'team-2', audit: null },
      ],
      audit: null,
    });
    expect(errors).toHaveLength(3);
  });

  it.each([
    ['key-4', { outcome: 'DELETED', apiKey: { clientId: 'key-4', owner: 'team-4' } }],
    ['no/such?', { outcome: 'DELETED', apiKey: { clientId: 'no/such?', owner: null } }],
    ['key-5', null],
  ])('deletes %s once, and joins its owner', async (clientId, expected) => {
    const graph = await serve(({ url }) => ({
      status: url.endsWith('key-5') ? 404 : 204,
    }));
    const { data, errors = [] } = await graph.ask(
      'mutation ($id: ID!) { deleteApiKey(clientId: $id) { outcome apiKey { clientId owner } } }',
      { ...TOKEN, variables: { id: clientId } },
    );
    expect(data).toEqual({ deleteApiKey: expected });
    expect(errors.map(({ extensions }) => extensions.code)).toEqual(expected ? [] : ['NOT_FOUND']);
    expect(requestLines(graph.service.seen)).toEqual([
      `DELETE /api/v1/secrets/${encodeURIComponent(clientId)}`,
    ]);
  });

  it.each([
    ['clientSecret', { client_id: 'key-6', client_secret: 'ß"\\\u2028' }],
    ['refreshToken', { client_id: 'key-6', refresh_token: 'ß"\\\u2028' }],
  ])('logs in once with a %s, and without the client’s token', async (field, body) => {
    const tokens = { access_token: 'a', refresh_token: 'r' };
    const graph = await serve({ body: tokens });
    const { data } = await graph.ask(LOGIN, {
      variables: { credential: { [field]: 'ß"\\\u2028' } },
      ...TOKEN,
    });
    expect(data).toEqual({ login: { accessToken: 'a', refreshToken: 'r', tokenType: 'Bearer' } });
    expect(requestLines(graph.service.seen)).toEqual(['POST /api/v1/auth/login']);
    expect(JSON.parse(graph.service.seen[0]?.body ?? '')).toEqual(body);
    expect(graph.service.seen[0]?.headers.authorization).toBeUndefined();
  });

  it('logs in with a credential that is a literal in the document', async () => {
    const graph = await serve({ body: { access_token: 'a' } });
    const { data } = await graph.ask(
      'mutation { login(clientId: "k", credential: {refreshToken: "r"}) { accessToken } }',
    );
    expect(data).toEqual({ login: { accessToken: 'a' } });
    expect(JSON.parse(graph.service.seen[0]?.body ?? '')).toEqual({
      client_id: 'k',
      refresh_token: 'r',
    });
  });

  it('plans a named operation with fragments, aliases, directives and extensions', async () => {
    const graph = await serve({ body: TRAIL });
    const query = `
      query Keys($first: Int = 1, $isWanted: Boolean!) {
        apiKeys(first: $first) { ...Key }
        trail: audit(first: 1) @include(if: $isWanted) { ...Events }
      }
      fragment Key on ApiKey { id: clientId one: audit(first: 1) { ...Events } }
      fragment Events on AuditEventConnection { edges { node { id raw(pointer: "/actor/id") } } }`;
    const { data } = await post(
      graph.router,
      JSON.stringify({
        query,
        operationName: 'Keys',
        variables: { isWanted: true },
        extensions: { client: { name: 'test' } },
      }),
      TOKEN,
    );
    const events = { edges: [{ node: { id: 'event-0', raw: 'demo-admin' } }] };
    expect(data).toEqual({ apiKeys: [{ id: 'demo-admin', one: events }], trail: events });
  });

  it('takes PageInfo from the subgraph of the connection', async () => {
    const graph = await serve({ body: TRAIL });
    const { data } = await graph.ask(
      `{ audit(first: 200) { pageInfo { hasNextPage hasPreviousPage } }
         ownersConnection(first: 2) { pageInfo { hasNextPage endCursor } } }`,
      TOKEN,
    );
    expect(data).toEqual({
      audit: { pageInfo: { hasNextPage: false, hasPreviousPage: false } },
      ownersConnection: { pageInfo: { hasNextPage: true, endCursor: 'team-2' } },
    });
  });
});
