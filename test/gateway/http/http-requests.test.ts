import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { ApolloClient, gql, HttpLink, InMemoryCache } from '@apollo/client/core';
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries';
import { describe, expect, it } from 'vitest';
import { AuditDocument, LoginDocument } from '../../../src/client/operations.generated.ts';
import { ask, codeOf, gatewayOver, onPort, post, type WireError } from '../../helpers/gateway.ts';
import { sendRaw } from '../../helpers/raw-socket.ts';
import { startService } from '../../helpers/service.ts';

const SECRET = 'hunter2-canary';
const NOWHERE = 'http://127.0.0.1:9';

describe('a request that is not GraphQL over HTTP', () => {
  it.each([
    ['invalid JSON', `{"query":"{__typename}","variables":{"client_secret":"${SECRET}"`],
    ['a JSON string', `"${SECRET}"`],
    ['null', 'null'],
    ['a number', '12'],
    ['a batch', '[{"query":"{__typename}"},{"query":"{__typename}"}]'],
    ['an object without a query', '{}'],
    ['a query that is a number', '{"query":12}'],
    ['variables that are a string', `{"query":"{__typename}","variables":"${SECRET}"}`],
    ['variables that are a list', `{"query":"{__typename}","variables":["${SECRET}"]}`],
    ['an unknown operation name', '{"query":"query A {__typename}","operationName":"B"}'],
    ['two operations and no name', '{"query":"query A {__typename} query B {__typename}"}'],
  ])('with %s is BAD_REQUEST with 400, and the response repeats nothing of it', async (_, body) => {
    await using gateway = gatewayOver(NOWHERE);
    const result = await post(gateway, body);
    expect(codeOf(result)).toBe('BAD_REQUEST');
    expect(result.status).toBe(400);
    expect(result.text + gateway.logged.join()).not.toContain(SECRET);
  });

  it.each([
    ['a batch', '[{"query":"{__typename}"}]', /one by one/],
    ['no query', '{"variables":{}}', /`query`/],
    ['an unknown name', '{"query":"query A {__typename}","operationName":"B"}', /`operationName`/],
    ['no name', '{"query":"query A {__typename} query B {__typename}"}', /`operationName`/],
    ['more than 64 KiB', JSON.stringify({ query: ' '.repeat(65_536) }), /64 KiB/],
  ])('with %s gets a message that says what to send', async (_, body, expected) => {
    await using gateway = gatewayOver(NOWHERE);
    await using server = await onPort(gateway);
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, duplex: 'half' } as const;
    for (const sent of [body, new Blob([body]).stream()]) {
      const response = await fetch(`${server.url}/graphql`, { ...init, body: sent });
      const { errors } = await response.json();
      expect(errors[0].message).toMatch(expected);
      expect(errors[0].extensions.code).toBe('BAD_REQUEST');
    }
  });

  it('with a compressed body is rejected with 415, prepared or not', async () => {
    await using gateway = gatewayOver(NOWHERE);
    await using server = await onPort(gateway);
    const plain = '{"query":"{__typename}"}';
    const send = async (body: BodyInit, encoding: Record<string, string>) => {
      const headers = { 'content-type': 'application/json', ...encoding };
      const response = await fetch(`${server.url}/graphql`, { method: 'POST', headers, body });
      const { errors = [] } = await response.json();
      return [response.status, ...errors.map(({ message }: WireError) => message)];
    };
    const rejected = [415, expect.stringContaining('content-encoding')];
    const gzip = { 'content-encoding': 'gzip' };
    for (const _ of [1, 2]) expect(await send(plain, {})).toEqual([200]);
    expect(await send(gzipSync(plain), gzip)).toEqual(rejected);
    expect(await send(plain, gzip)).toEqual(rejected);
    expect(await send(plain, { 'content-encoding': 'Identity' })).toEqual([200]);
  });

  it.each([
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/graphql',
    'text/plain',
    'application/jsonp',
    '',
  ])('as %j is rejected with 415, and nothing is sent', async (type) => {
    await using service = await startService({ body: { access_token: 'a' } });
    await using gateway = gatewayOver(service.url);
    const query =
      'mutation { login(clientId: "c", credential: {clientSecret: "s"}) { tokenType } }';
    const body = type === 'application/graphql' ? query : `query=${encodeURIComponent(query)}`;
    const result = await post(gateway, body, { 'content-type': type });
    expect(result.status).toBe(415);
    expect(codeOf(result)).toBe('BAD_REQUEST');
    expect(service.seen).toHaveLength(0);
  });

  it.each([
    'application/json',
    'Application/JSON; charset=utf-8',
    'application/json;charset=UTF-8',
  ])('may have the content type %j', async (type) => {
    await using gateway = gatewayOver(NOWHERE);
    const { data } = await post(gateway, '{"query":"{__typename}"}', { 'content-type': type });
    expect(data).toEqual({ __typename: 'Query' });
  });

  it.each(['POST', 'GET'])('may have an empty operationName, by %s', async (method) => {
    await using gateway = gatewayOver(NOWHERE);
    await using server = await onPort(gateway);
    const params = { query: 'query A { __typename }', operationName: '' };
    const headers = { 'content-type': 'application/json' };
    for (const _ of [1, 2]) {
      const response = await (method === 'GET'
        ? fetch(`${server.url}/graphql?${new URLSearchParams(params)}`)
        : fetch(`${server.url}/graphql`, { method, headers, body: JSON.stringify(params) }));
      expect(await response.json()).toEqual({ data: { __typename: 'Query' } });
    }
    expect(gateway.logged.join().includes('"prepared":true')).toBe(method === 'POST');
  });

  it('with variables of a GET that are invalid JSON is rejected without repeating them', async () => {
    await using gateway = gatewayOver(NOWHERE);
    const response = await gateway.fetch(
      new Request(`http://gateway.test/graphql?query={__typename}&variables={${SECRET}`),
    );
    expect(response.status).toBe(400);
    const text = await response.text();
    expect(text).toContain('BAD_REQUEST');
    expect(text).not.toContain(SECRET);
  });

  it.each(['text/html', 'application/xml, image/*', 'json', 'text/html; charset=utf-8'])(
    'that accepts only %s is rejected with 406, and nothing is sent',
    async (accept) => {
      await using service = await startService({ body: { access_token: 'a' } });
      await using gateway = gatewayOver(service.url);
      const query =
        'mutation { login(clientId: "c", credential: {clientSecret: "s"}) { tokenType } }';
      const result = await ask(gateway, query, {}, { headers: { accept } });
      expect(result.status).toBe(406);
      expect(codeOf(result)).toBe('BAD_REQUEST');
      expect(service.seen).toHaveLength(0);
    },
  );

  it.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS'])('by %s is rejected with 405', async (method) => {
    await using gateway = gatewayOver(NOWHERE);
    const response = await gateway.fetch(new Request('http://gateway.test/graphql', { method }));
    expect(response.status).toBe(405);
  });

  it.each([
    '/',
    '/graphql/',
    '/foo/graphql',
    '/x?y=/graphql',
    '//graphql',
    '/health',
    '/x?y=/health',
  ])('at %s gets 404 and the path of GraphQL', async (path) => {
    await using gateway = gatewayOver(NOWHERE);
    await using server = await onPort(gateway);
    const response = await sendRaw(
      server.url,
      `GET ${path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n`,
    );
    expect(response).toMatch(/^HTTP\/1.1 404 /);
    expect(response).toContain('GraphQL is at /graphql');
  });
});

describe('a persisted query', () => {
  const extensions = { persistedQuery: { version: 1, sha256Hash: SECRET } };

  it.each(['POST', 'GET'])('by %s gets PERSISTED_QUERY_NOT_SUPPORTED with 200', async (method) => {
    await using gateway = gatewayOver(NOWHERE);
    await using server = await onPort(gateway);
    const text = JSON.stringify({ operationName: 'A', variables: {}, extensions });
    const search = new URLSearchParams({ extensions: JSON.stringify(extensions) });
    const response = await (method === 'GET'
      ? fetch(`${server.url}/graphql?${search}`)
      : fetch(`${server.url}/graphql`, {
          method,
          headers: { 'content-type': 'application/json' },
          body: text,
        }));
    const { errors, ...others } = await response.json();
    expect(response.status).toBe(200);
    expect(errors).toMatchObject([
      {
        message: 'PersistedQueryNotSupported',
        extensions: { code: 'PERSISTED_QUERY_NOT_SUPPORTED', retryable: false },
      },
    ]);
    expect(others).toEqual({});
    expect(JSON.stringify(errors) + gateway.logged.join()).not.toContain(SECRET);
  });

  it('with its document is executed', async () => {
    await using gateway = gatewayOver(NOWHERE);
    const body = JSON.stringify({ query: '{ __typename }', extensions });
    expect((await post(gateway, body)).data).toEqual({ __typename: 'Query' });
  });

  it.each([false, true])(
    'of Apollo Client is sent again as a document, the first time by GET: %s',
    async (useGETForHashedQueries) => {
      await using service = await startService({ body: [] });
      await using gateway = gatewayOver(service.url);
      await using server = await onPort(gateway);
      const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
      const headers = { authorization: 'Bearer t' };
      const client = new ApolloClient({
        link: new PersistedQueryLink({ sha256, useGETForHashedQueries }).concat(
          new HttpLink({ uri: `${server.url}/graphql`, headers }),
        ),
        cache: new InMemoryCache(),
      });
      const query = gql`{ audit { totalCount } }`;
      for (const fetchPolicy of ['network-only', 'network-only'] as const) {
        const { data } = await client.query({ query, fetchPolicy });
        expect(data).toMatchObject({ audit: { totalCount: 0 } });
      }
      const codes = gateway.logged.map((line) => JSON.parse(line).codes);
      expect(codes).toEqual(['PERSISTED_QUERY_NOT_SUPPORTED', undefined, undefined]);
    },
  );
});

describe('a raw request', () => {
  it.each([
    ['a Host with a space', 'GET /graphql?query={__typename} HTTP/1.1\r\nHost: a b'],
    ['a Host with an invalid port', 'GET /graphql HTTP/1.1\r\nHost: evil:99999'],
    ['a Host with a path', 'GET /graphql HTTP/1.1\r\nHost: evil/x'],
    ['a Host with a user', 'GET /graphql HTTP/1.1\r\nHost: u@evil'],
    ['no Host', 'GET /graphql HTTP/1.1\r\nx: y'],
    ['two Hosts', 'GET /graphql HTTP/1.1\r\nHost: a\r\nHost: b'],
    ['a target that is not a path', 'OPTIONS * HTTP/1.1\r\nHost: a'],
    [
      'two Authorization headers',
      'GET /graphql?query={audit{totalCount}} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b',
    ],
  ])('with %s gets 400 as JSON, without a stack', async (_, head) => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    await using server = await onPort(gateway);
    const response = await sendRaw(server.url, `${head}\r\nconnection: close\r\n\r\n`);
    expect(response).toMatch(/^HTTP\/1.1 400 /);
    expect(response).toMatch(/content-type: application\/json/i);
    expect(response).toContain('"code":"BAD_REQUEST"');
    expect(response).toMatch(/cache-control: no-store/i);
    expect(response).not.toMatch(/\.ts|\.js|node:/);
    const id = /"requestId":"([^"]+)"/.exec(response)?.[1];
    expect(gateway.logged.map((line) => JSON.parse(line).requestId)).toEqual([id]);
    expect(service.seen).toHaveLength(0);
  });

  it.each(['a', 'a:1', 'example.com:443', '127.0.0.1:4000', '[::1]:4000'])(
    'with the Host %s works',
    async (host) => {
      await using gateway = gatewayOver(NOWHERE);
      await using server = await onPort(gateway);
      const response = await sendRaw(
        server.url,
        `GET /graphql?query={__typename} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
      );
      expect(response).toContain('{"data":{"__typename":"Query"}}');
    },
  );

  it('that is not HTTP gets an empty 400', async () => {
    await using gateway = gatewayOver(NOWHERE);
    await using server = await onPort(gateway);
    expect(await sendRaw(server.url, 'hello\r\n\r\n')).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
  });
});

describe('an error in the document', () => {
  it.each([
    [`{ audit(filter: "${SECRET} }`, 'Syntax error at line 1, column 34.'],
    [`query {\n  audit { "${SECRET}" }\n}`, 'Syntax error at line 2, column 11.'],
    ['', 'Syntax error at line 1, column 1.'],
  ])('of syntax, %j, is reported by its location', async (query, message) => {
    await using gateway = gatewayOver(NOWHERE);
    const result = await ask(gateway, query);
    expect(result.errors?.[0]?.message).toBe(message);
    expect(codeOf(result)).toBe('GRAPHQL_PARSE_FAILED');
    expect(result.text).not.toContain(SECRET);
  });

  it.each([
    [`{ audit(first: "${SECRET}") { totalCount } }`, 'argument "first"', '"Int"'],
    [
      `{ audit(filter: {outcome: ${SECRET.replaceAll('-', '_')}}) { totalCount } }`,
      '"filter"',
      'AuditOutcome',
    ],
    [`{ audit(filter: {since: "${SECRET}"}) { totalCount } }`, '"filter"', 'DateTime'],
    [`{ audit(filter: "${SECRET}") { totalCount } }`, '"filter"', 'AuditFilter'],
    [
      `mutation { login(clientId: "c", credential: {clientSecret: {a: "${SECRET}"}}) { tokenType } }`,
      '"credential"',
      'String',
    ],
    [
      `mutation { login(clientId: ["${SECRET}"], credential: {refreshToken: "r"}) { tokenType } }`,
      '"clientId"',
      'ID',
    ],
    [`query ($n: Int = "${SECRET}") { audit(first: $n) { totalCount } }`, 'default', 'Int'],
    [`{ audit @include(if: "${SECRET}") { totalCount } }`, '"if"', 'Boolean'],
  ])('of type, %s, is reported by its location, without the value', async (query, ...parts) => {
    await using gateway = gatewayOver(NOWHERE);
    const result = await ask(gateway, query);
    expect(codeOf(result)).toBe('GRAPHQL_VALIDATION_FAILED');
    for (const part of parts) expect(result.errors?.[0]?.message).toContain(part);
    expect(result.errors?.[0]?.locations).toHaveLength(1);
    expect(result.text).not.toContain(SECRET.replaceAll('-', '_'));
    expect(result.text).not.toContain(SECRET);
  });

  it('of name is reported with the name', async () => {
    await using gateway = gatewayOver(NOWHERE);
    const result = await ask(gateway, '{ audits { id } }');
    expect(result.errors?.[0]?.message).toContain('Cannot query field "audits" on type "Query"');
  });

  it('is one of six at most, however many there are', async () => {
    await using gateway = gatewayOver(NOWHERE);
    const { errors } = await ask(
      gateway,
      `{ ${Array.from({ length: 50 }, (_, i) => `x${i}`).join(' ')} }`,
    );
    expect(errors?.length).toBeLessThanOrEqual(6);
  });
});

describe('an error in the variables', () => {
  it.each([
    [
      { clientId: 'c', credential: { clientSecret: { deep: SECRET } } },
      '"credential.clientSecret"',
      '"String"',
    ],
    [
      { clientId: 'c', credential: { clientSecret: 1234567 } },
      '"credential.clientSecret"',
      '"String"',
    ],
    [{ clientId: 'c', credential: SECRET }, '"credential"', 'LoginCredential'],
    [
      { clientId: 'c', credential: { refreshToken: SECRET, clientSecret: SECRET } },
      '"credential"',
      'LoginCredential',
    ],
    [{ clientId: 'c', credential: {} }, '"credential"', 'LoginCredential'],
    [{ clientId: 'c', credential: { other: SECRET } }, '"credential"', 'LoginCredential'],
    [{ clientId: { a: SECRET }, credential: { refreshToken: 'r' } }, '"clientId"', '"ID!"'],
    [{ clientId: null, credential: { refreshToken: 'r' } }, '$clientId', '"ID!"'],
    [{ credential: { refreshToken: 'r' } }, '$clientId', '"ID!"'],
  ])(
    '%j is BAD_USER_INPUT, reported by its path without the value, and nothing is sent',
    async (variables, ...parts) => {
      await using service = await startService({ body: { access_token: 'a' } });
      await using gateway = gatewayOver(service.url);
      const result = await post(
        gateway,
        JSON.stringify({ query: String(LoginDocument), variables }),
      );
      expect(codeOf(result)).toBe('BAD_USER_INPUT');
      for (const part of parts) expect(result.errors?.[0]?.message).toContain(part);
      expect(result.text + gateway.logged.join()).not.toMatch(/hunter2|1234567/);
      expect(result).not.toHaveProperty('data');
      expect(service.seen).toHaveLength(0);
    },
  );

  it.each(['1700000000', '2026-11-21', '2026-11-21T09:30:00', 'now', 1_700_000_000, true])(
    'of time, %j, is BAD_USER_INPUT',
    async (since) => {
      await using gateway = gatewayOver(NOWHERE);
      const body = { query: String(AuditDocument), variables: { filter: { since } } };
      const result = await post(gateway, JSON.stringify(body), { authorization: 'Bearer t' });
      expect(codeOf(result)).toBe('BAD_USER_INPUT');
      expect(result.errors?.[0]?.message).toContain('"filter.since": expected "DateTime"');
    },
  );

  it.each(['constructor', 'toString', 'hasOwnProperty'])(
    'is reported as missing if its name is $%s',
    async (name) => {
      await using gateway = gatewayOver(NOWHERE);
      const query = `query ($${name}: [_Any!]!) { _entities(representations: $${name}) { __typename } }`;
      const { errors } = await post(gateway, JSON.stringify({ query, variables: {} }));
      expect(errors?.map(({ message }) => message)).toEqual([
        `Variable "$${name}" of type "[_Any!]!" is required and must not be null.`,
      ]);
    },
  );

  it('is one of five at most, however many there are', async () => {
    await using gateway = gatewayOver(NOWHERE);
    const variables = { parameters: Array.from({ length: 20_000 }, () => 1) };
    const body = JSON.stringify({ query: String(AuditDocument), variables });
    const { errors } = await post(gateway, body, { authorization: 'Bearer t' });
    expect(errors).toHaveLength(5);
  });

  it.each<[string, object, string, string?]>([
    [
      'a credential with both fields',
      { credential: { clientSecret: SECRET, refreshToken: SECRET } },
      'expected "LoginCredential!"; set exactly one of clientSecret, refreshToken.',
      'expected "LoginCredential!"; set exactly one of its fields.',
    ],
    [
      'a credential with an unknown field',
      { credential: { [SECRET]: SECRET } },
      'expected "LoginCredential!"; set exactly one of clientSecret, refreshToken.',
      'expected "LoginCredential!"; set exactly one of its fields.',
    ],
    [
      'a missing field',
      { parameters: [{ name: SECRET }] },
      'expected "UpstreamParameter!"; value is required.',
    ],
    [
      'an unknown field',
      { filter: { [SECRET]: SECRET } },
      'expected "AuditFilter"; its only fields are since, until, actions, actor, target, outcome.',
      'expected "AuditFilter"; it has a field that is unknown.',
    ],
    [
      'an unknown field, and a missing one',
      { parameters: { name: SECRET, [SECRET]: SECRET } },
      'expected "[UpstreamParameter!]"; value is required; its only fields are name, value.',
      'expected "[UpstreamParameter!]"; value is required; it has a field that is unknown.',
    ],
    ['a string for an object', { filter: SECRET }, 'expected "AuditFilter".'],
    ['a list for an object', { filter: [SECRET] }, 'expected "AuditFilter".'],
    [
      'a time',
      { filter: { since: SECRET } },
      'expected "DateTime"; RFC 3339 with an offset, such as 2026-11-21T09:30:00Z.',
    ],
    [
      'an unknown enum value',
      { filter: { outcome: SECRET } },
      'expected "AuditOutcome"; use one of SUCCESS, FAILURE.',
      'expected "AuditOutcome".',
    ],
  ])(
    'by %s gets a hint, with names of the schema if introspection is enabled',
    async (_, variables, open, closed = open) => {
      const query = 'credential' in variables ? LoginDocument : AuditDocument;
      for (const [introspection, expected] of [
        [true, open],
        [false, closed],
      ] as const) {
        await using gateway = gatewayOver(NOWHERE, { introspection });
        const body = { query: String(query), variables: { clientId: 'c', ...variables } };
        const { errors, text } = await post(gateway, JSON.stringify(body));
        expect(errors?.map(({ message }) => message.replace(/^.*": (?=expected)/, ''))).toEqual([
          expected,
        ]);
        expect(text).not.toContain(SECRET);
      }
    },
  );

  it('in a list is reported by its index', async () => {
    await using gateway = gatewayOver(NOWHERE);
    const variables = {
      parameters: [
        { name: 'a', value: 'b' },
        { name: 'a', value: [SECRET] },
      ],
    };
    const { errors } = await post(
      gateway,
      JSON.stringify({ query: String(AuditDocument), variables }),
    );
    expect(errors?.[0]?.message).toContain('"parameters.1.value"');
  });

  it.each([0, -1, 1001, 2_000_000_000])('of range, first: %i, is BAD_USER_INPUT', async (first) => {
    await using service = await startService({ body: [] });
    await using gateway = gatewayOver(service.url);
    const result = await ask(gateway, AuditDocument, { first }, { token: 't' });
    expect(codeOf(result)).toBe('BAD_USER_INPUT');
  });

  it.each(['x', 'WzFd', `1.${Buffer.from('["a",1]').toString('base64url')}`, '2.WzFd', ''])(
    'of cursor, %j, is BAD_USER_INPUT',
    async (after) => {
      await using service = await startService({ body: [] });
      await using gateway = gatewayOver(service.url);
      const result = await ask(gateway, AuditDocument, { after }, { token: 't' });
      expect(codeOf(result)).toBe('BAD_USER_INPUT');
    },
  );
});

describe('a null variable where a value is required', () => {
  it.each([
    ['query ($v: Boolean = true) { audit(first: 1) @include(if: $v) { totalCount } }', 400],
    ['query ($v: Boolean = true) { audit { nodes { id @skip(if: $v) } } }', 200],
    ['mutation ($v: ID = "a") { deleteApiKey(clientId: $v) { outcome } }', 200],
    [
      'mutation ($v: LoginCredential = {clientSecret: "s"}) { login(clientId: "a", credential: $v) { tokenType } }',
      200,
    ],
    [
      'query ($v: String = "a") { audit(parameters: [{name: $v, value: "v"}]) { totalCount } }',
      200,
    ],
    ['query ($v: String = "x") { audit(filter: {actions: [$v, "b"]}) { totalCount } }', 200],
    [
      'mutation ($v: String) { login(clientId: "a", credential: {clientSecret: $v}) { tokenType } }',
      200,
    ],
  ])('is BAD_USER_INPUT, not a bug: %s', async (query, status) => {
    await using service = await startService({ body: [{}] });
    await using gateway = gatewayOver(service.url);
    const headers = { accept: 'application/graphql-response+json' };
    const result = await ask(gateway, query, { v: null }, { token: 't', headers });
    expect(codeOf(result)).toBe('BAD_USER_INPUT');
    expect(result.errors?.[0]?.message).toContain('$v');
    expect(result.status).toBe(status);
    expect(gateway.logged.join()).not.toContain('"bug"');
  });

  it.each([
    'subscription { __typename }',
    'subscription ($v: Int!) { audit(first: $v) }',
    'query ($__proto__: AuditFilter) { audit(filter: $__proto__) { nodes { id } } }',
    'query ($__proto__: Boolean!) { __typename @skip(if: $__proto__) }',
  ])('neither is a document that cannot be executed: %s', async (query) => {
    await using service = await startService({ body: [{}] });
    await using gateway = gatewayOver(service.url);
    const variables = JSON.parse('{"v": "x", "__proto__": {"actor": "nobody"}}');
    const result = await ask(gateway, query, variables, { token: 't' });
    expect(codeOf(result)).toBe('GRAPHQL_VALIDATION_FAILED');
    expect(service.seen).toHaveLength(0);
    expect(gateway.logged.join()).not.toContain('"bug"');
  });
});

describe('a body that JSON.parse or a lenient decoder would alter', () => {
  it.each([
    '{"query":"mutation($c:ID!){deleteApiKey(clientId:$c){outcome}}","variables":{"c":9007199254740993}}',
    '{"query":"mutation($c:ID!){deleteApiKey(clientId:$c){outcome}}","variables":{"c":1e30}}',
    Buffer.from('{"query":"mutation{deleteApiKey(clientId:\\"a\xff\\"){outcome}}"}', 'latin1'),
  ])('is rejected, and no other key is deleted: %s', async (body) => {
    await using service = await startService({ status: 204 });
    await using gateway = gatewayOver(service.url);
    const headers = { 'content-type': 'application/json', authorization: 'Bearer t' };
    const response = await gateway.fetch(
      new Request('http://gateway.test/graphql', { method: 'POST', headers, body }),
    );
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('BAD_REQUEST');
    expect(service.seen).toHaveLength(0);
  });

  it('may start with a byte order mark', async () => {
    await using gateway = gatewayOver(NOWHERE);
    expect((await post(gateway, '\ufeff{"query":"{__typename}"}')).status).toBe(200);
  });
});

describe('every response', () => {
  it('to a subscription that is rejected is a stream of one event, with 200', async () => {
    await using gateway = gatewayOver(NOWHERE);
    const { fetch } = gateway;
    const query = 'subscription { auditEvents(every: 1) { missed } }';
    const headers = { 'content-type': 'application/json', accept: 'text/event-stream' };
    const body = JSON.stringify({ query });
    const url = 'http://gateway.test/graphql';
    const response = await fetch(new Request(url, { method: 'POST', headers, body }));
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    const [ping, next, complete] = (await response.text()).split('\n\n');
    expect(codeOf(JSON.parse(next?.replace('event: next\ndata: ', '') ?? ''))).toBe(
      'BAD_USER_INPUT',
    );
    expect([ping, complete]).toEqual([':', 'event: complete\ndata:']);
  });

  it('has no-store, nosniff and a request ID, which is also in its errors', async () => {
    await using gateway = gatewayOver(NOWHERE);
    for (const result of [await ask(gateway, '{ __typename }'), await ask(gateway, '{ nope }')]) {
      expect(result.headers.get('cache-control')).toBe('no-store');
      expect(result.headers.get('x-content-type-options')).toBe('nosniff');
      const id = result.headers.get('x-request-id');
      expect(id).toMatch(/^[\da-f-]{36}$/);
      for (const { extensions } of result.errors ?? []) expect(extensions.requestId).toBe(id);
    }
  });

  it.each([
    ['abc-1', true],
    ['a b', false],
    ['x'.repeat(129), false],
    ['"quoted"', false],
  ])('has the client’s request ID %s: %s', async (id, kept) => {
    await using gateway = gatewayOver(NOWHERE);
    const { headers } = await ask(
      gateway,
      '{ __typename }',
      {},
      { headers: { 'x-request-id': id } },
    );
    expect(headers.get('x-request-id') === id).toBe(kept);
  });

  it('has CORS headers for an allowed origin only', async () => {
    await using closed = gatewayOver(NOWHERE);
    await using open = gatewayOver(NOWHERE, {
      corsOrigins: ['https://a.example', 'https://b.example'],
    });
    const origin = (gateway: typeof open, value: string) =>
      ask(gateway, '{ __typename }', {}, { headers: { origin: value } });
    expect(
      (await origin(closed, 'https://a.example')).headers.has('access-control-allow-origin'),
    ).toBe(false);
    expect(
      (await origin(open, 'https://evil.example')).headers.has('access-control-allow-origin'),
    ).toBe(false);
    expect((await origin(open, 'null')).headers.has('access-control-allow-origin')).toBe(false);
    const { headers } = await origin(open, 'https://b.example');
    expect(headers.get('access-control-allow-origin')).toBe('https://b.example');
    expect(headers.has('access-control-allow-credentials')).toBe(false);
  });

  it('varies by Origin if CORS is configured, with and without an origin, on both paths', async () => {
    await using closed = gatewayOver(NOWHERE);
    await using open = gatewayOver(NOWHERE, { corsOrigins: ['https://a.example'] });
    await using server = await onPort(open);
    const vary = async (url: string, headers: Readonly<Record<string, string>> = {}) => {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: '{"query": "{ __typename }"}',
      });
      return response.headers.get('vary');
    };
    for (const _ of [1, 2, 3]) expect(await vary(server.url)).toBe('Origin');
    for (const origin of ['https://a.example', 'https://b.example'])
      expect(await vary(server.url, { origin })).toBe('Origin');
    expect((await ask(closed, '{ __typename }')).headers.get('vary')).toBeNull();
  });

  it('allows the preflight of an allowed origin', async () => {
    await using gateway = gatewayOver(NOWHERE, { corsOrigins: ['https://a.example'] });
    const response = await gateway.fetch(
      new Request('http://gateway.test/graphql', {
        method: 'OPTIONS',
        headers: {
          origin: 'https://a.example',
          'access-control-request-method': 'POST',
          'access-control-request-headers': 'content-type,authorization',
        },
      }),
    );
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-headers')).toBe('content-type,authorization');
    expect(response.headers.get('access-control-max-age')).toBe('600');
    expect(response.headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
    expect(gateway.logged).toEqual([]);
  });
});

describe('a bug', () => {
  it('is masked, logged without its message, and the next request is served', async () => {
    let broken = true;
    await using service = await startService({ body: { access_token: 'a', expires_in: 1 } });
    await using gateway = gatewayOver(service.url, {
      now: () => {
        if (broken) throw new Error(SECRET);
        return new Date(0);
      },
    });
    const login = () =>
      ask(gateway, LoginDocument, { clientId: 'c', credential: { clientSecret: 's' } });
    const result = await login();
    expect(codeOf(result)).toBe('INTERNAL_SERVER_ERROR');
    expect(result.text + gateway.logged.join()).not.toContain(SECRET);
    expect(gateway.logged.join()).toContain('http-requests.test.ts');
    broken = false;
    expect((await login()).data?.login?.accessToken).toBe('a');
  });
});

describe('introspection', () => {
  it('works when it is enabled', async () => {
    await using gateway = gatewayOver(NOWHERE);
    expect((await ask(gateway, '{ __schema { queryType { name } } }')).data).toEqual({
      __schema: { queryType: { name: 'Query' } },
    });
  });

  it.each(['{ __schema { types { name } } }', '{ __type(name: "Query") { name } }'])(
    'is rejected when it is disabled, %s, and __typename still works',
    async (query) => {
      await using gateway = gatewayOver(NOWHERE, { introspection: false });
      expect(codeOf(await ask(gateway, query))).toBe('GRAPHQL_VALIDATION_FAILED');
      expect((await ask(gateway, '{ __typename }')).data).toEqual({ __typename: 'Query' });
    },
  );

  it.each([
    '{ audits }',
    '{ audit(frist: 1) { totalCount } }',
    'query ($f: AuditFiltre) { audit(filter: $f) { totalCount } }',
    '{ audit(filter: {actr: "a"}) { totalCount } }',
  ])('suggests a name only when it is enabled: %s', async (query) => {
    await using open = gatewayOver(NOWHERE);
    await using closed = gatewayOver(NOWHERE, { introspection: false });
    expect(codeOf(await ask(closed, query))).toBe('GRAPHQL_VALIDATION_FAILED');
    expect((await ask(closed, query)).text).not.toContain('Did you mean');
    expect((await ask(open, query)).text).toContain('Did you mean');
  });
});

describe('the log', () => {
  it('has one line per request, with names and numbers only', async () => {
    await using service = await startService({ status: 403, body: SECRET });
    await using gateway = gatewayOver(service.url);
    const query = `query Q($c: String) { one: audit(filter: {actor: $c}) { totalCount } ...F } fragment F on Query { audit(filter: {actor: "${SECRET}"}) { totalCount } __typename }`;
    await ask(gateway, query, { c: SECRET }, { token: SECRET, headers: { 'x-request-id': 'r1' } });
    expect(gateway.logged).toHaveLength(1);
    const { time, durationMs, ...line } = JSON.parse(gateway.logged[0] ?? '');
    expect(line).toEqual({
      level: 30,
      msg: 'request',
      requestId: 'r1',
      operation: 'query',
      fields: 'audit,__typename',
      codes: 'FORBIDDEN',
      status: 200,
    });
    expect(typeof durationMs).toBe('number');
  });

  it.each([
    ['refuses connections', NOWHERE, /^ECONNREFUSED$/],
    ['has an unknown host', 'http://x.invalid', /^(?:ENOTFOUND|EAI_AGAIN)$/],
  ])('has Node’s error code for a service that %s, and the response does not', async (...of) => {
    const [, url, expected] = of;
    await using gateway = gatewayOver(url);
    const { text } = await ask(gateway, AuditDocument, {}, { token: 't' });
    const { cause, ...line } = JSON.parse(gateway.logged[0] ?? '');
    expect(cause).toMatch(expected);
    expect(line).toMatchObject({ codes: 'UPSTREAM_UNAVAILABLE' });
    expect(line).not.toHaveProperty('reason');
    expect(text).not.toContain(cause);
  });

  it('has Node’s error code for a lost connection', async () => {
    await using service = await startService((_, response) => {
      response.socket?.resetAndDestroy();
      return undefined;
    });
    await using gateway = gatewayOver(service.url);
    const variables = { clientId: 'c', credential: { clientSecret: 's' } };
    await ask(gateway, LoginDocument, variables);
    expect(JSON.parse(gateway.logged[0] ?? '')).toMatchObject({
      codes: 'OUTCOME_UNKNOWN',
      cause: 'ECONNRESET',
    });
  });

  it('has the reasons that are in the response', async () => {
    await using service = await startService({ body: { colour: SECRET } });
    await using gateway = gatewayOver(service.url);
    const query = '{ one: audit { totalCount } audit(first: 0) { totalCount } }';
    const { errors } = await ask(gateway, query, {}, { token: 't' });
    expect(errors?.map(({ extensions }) => extensions.reason)).toContain('NO_RECORDS');
    expect(JSON.parse(gateway.logged[0] ?? '').reason).toBe('NO_RECORDS');
    expect(gateway.logged[0]).not.toContain('cause');
  });
});

describe('health', () => {
  it('is always live, and ready until it drains', async () => {
    const draining = new AbortController();
    await using gateway = gatewayOver(NOWHERE, { draining: draining.signal });
    const status = async (path: string) =>
      (await gateway.fetch(new Request(`http://gateway.test/health/${path}`))).status;
    expect([await status('live'), await status('ready')]).toEqual([200, 200]);
    draining.abort();
    expect([await status('live'), await status('ready')]).toEqual([200, 503]);
  });
});
