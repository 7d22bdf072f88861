import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Gateway } from '../../../src/gateway/http/gateway-type.ts';
import { compareBothPaths, VARIABLES } from '../../helpers/both-paths.ts';
import { documentsOfTheSuite, type GeneratedRequest } from '../../helpers/documents.ts';
import { gatewayOver, type Overrides, onPort } from '../../helpers/gateway.ts';
import { startKeytrail } from '../../helpers/process.ts';
import { type Handler, startService } from '../../helpers/service.ts';

const AUDIT = '{ audit { nodes { id } } }';

/** Serves a gateway on a port: only there operations are prepared. */
async function onGateway(
  behave: Handler,
  act: (port: {
    readonly url: string;
    readonly ask: (query: string, init?: RequestInit) => Promise<unknown>;
    readonly sockets: () => number;
    readonly logged: readonly string[];
    readonly draining: AbortController;
  }) => Promise<void>,
  overrides: Overrides = {},
): Promise<void> {
  await using service = await startService(behave);
  await using gateway = gatewayOver(service.url, overrides);
  const draining = new AbortController();
  await using server = await onPort(gateway, { draining });
  const ask = async (query: string, { headers, ...init }: RequestInit = {}) => {
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer t', ...headers },
      body: JSON.stringify({ query }),
      ...init,
    });
    return { connection: response.headers.get('connection'), ...(await response.json()) };
  };
  await act({ url: server.url, ask, sockets: service.sockets, logged: gateway.logged, draining });
}

/** A raw request, whose Content-Length is by `missing` bytes more than its body. */
function toHttp(query: string, missing: number): string {
  const body = JSON.stringify({ query });
  const head = [
    'POST /graphql HTTP/1.1',
    'host: gateway',
    'authorization: Bearer t',
    'content-type: application/json',
    `content-length: ${body.length + missing}`,
  ];
  return `${head.join('\r\n')}\r\n\r\n${body}`;
}

describe('a request for a prepared operation', () => {
  it('gets the same response as from Yoga’s pipeline, with every document of the suite', async () => {
    const documents = documentsOfTheSuite();
    expect(documents.length).toBeGreaterThan(60);
    const prepared = await compareBothPaths(
      documents.map((query) => ({ query, variables: VARIABLES })),
    );
    expect(prepared).toBeGreaterThan(50);
  });

  it.each([60, 250, 500, 1000, 2000, 4000])(
    'gets the same response as from Yoga’s pipeline with results of at most %i bytes',
    async (graphqlMaxBytes) => {
      const requests = documentsOfTheSuite().map((query) => ({ query, variables: VARIABLES }));
      expect(await compareBothPaths(requests, { graphqlMaxBytes })).toBeGreaterThan(50);
    },
  );

  it('gets the same response as from Yoga’s pipeline with JavaScript’s reserved words as aliases', async () => {
    const names =
      'constructor toString get set async await class default eval arguments let new this then';
    const aliases = names.split(' ').map((name) => `${name}: id`);
    const query = `{ audit { nodes { ${aliases.join(' ')} null: __typename true: action } } }`;
    expect(await compareBothPaths([{ query, variables: {} }])).toBeGreaterThan(0);
    expect(
      await compareBothPaths([{ query: '{ audit { __proto__: __typename } }', variables: {} }]),
    ).toBe(0);
  });

  it.each<[string, readonly GeneratedRequest[]]>([
    [
      '3,000 nested brackets in a variable',
      [
        { query: '{ __typename }' },
        {
          query: '{ __typename }',
          variables: { x: JSON.parse('['.repeat(3000) + ']'.repeat(3000)) },
        },
      ],
    ],
    [
      'an operation name that continues like another document',
      [
        { query: '#\nquery A { __typename }', operationName: 'A' },
        { query: 'query A { __typename }', operationName: 'A\n#' },
      ],
    ],
  ])('gets the same response as from Yoga’s pipeline with %s', async (_, requests) => {
    // Four times each: once per accepted content type.
    await compareBothPaths(requests.flatMap((request) => Array.from({ length: 4 }, () => request)));
  });

  it.each<[string, string | Buffer<ArrayBuffer>, string, boolean]>([
    ['an integer above 2^53', '{"query":Q,"variables":{"x":9007199254740993}}', 'json', false],
    ['digits in a string', '{"query":Q,"variables":{"x":"9007199254740993"}}', 'json', true],
    ['a list of variables', '{"query":Q,"variables":[]}', 'json', false],
    ['extensions that are a string', '{"query":Q,"extensions":"x"}', 'json', false],
    [
      'empty members and an unknown one',
      '{"query":Q,"operationName":"","variables":"","x":1}',
      'json',
      true,
    ],
    ['an operation name that is no string', '{"query":Q,"operationName":true}', 'json', false],
    ['a query in a list', '{"query":[Q]}', 'json', false],
    ['a batch', '[{"query":Q}]', 'json', false],
    ['invalid UTF-8', Buffer.from('7b22717565727922ff', 'hex'), 'json', false],
    ['another type of JSON', '{"query":Q}', 'graphql+json; charset=UTF-8', true],
    ['a type that is not JSON', '{"query":Q}', 'graphql', false],
  ])('is read by the same rules as by Yoga’s pipeline: %s', async (_, body, type, isPrepared) => {
    await using gateway = gatewayOver('http://127.0.0.1:9');
    await using server = await onPort(gateway);
    const query = 'query true { __typename }';
    const send = async (by: typeof fetch, sent: BodyInit, contentType: string) => {
      const headers = { 'content-type': `application/${contentType}`, 'x-request-id': 'r' };
      const response = await by(`${server.url}/graphql`, { method: 'POST', headers, body: sent });
      return [response.status, response.headers.get('allow'), await response.json()];
    };
    const sent = typeof body === 'string' ? body.replace('Q', JSON.stringify(query)) : body;
    for (const operationName of ['true', undefined])
      await send(fetch, JSON.stringify({ query, operationName }), 'json');
    expect(await send(fetch, sent, type)).toEqual(await send(gateway.fetch, sent, type));
    expect(gateway.logged.at(-2)?.includes('"prepared":true')).toBe(isPrepared);
  });

  it('may have fields, aliases and members called `then`', () =>
    onGateway(
      ({ method }) => ({
        body: method === 'DELETE' ? '{"then":1,"deleted":1}' : '[{"then":{"a":1}}]',
      }),
      async ({ ask, logged }) => {
        const data = (json: string) => ({ connection: 'keep-alive', data: JSON.parse(json) });
        for (let time = 0; time < 3; time += 1) {
          expect(await ask('{ then: __typename audit { then: nodes { then: id raw } } }')).toEqual(
            data('{"then":"Query","audit":{"then":[{"then":null,"raw":{"then":{"a":1}}}]}}'),
          );
          expect(
            await ask('mutation { deleteApiKey(clientId: "c") { raw } then: __typename }'),
          ).toEqual(data('{"deleteApiKey":{"raw":{"then":1,"deleted":1}},"then":"Mutation"}'));
        }
        expect(logged.join()).not.toContain('bug');
      },
    ));

  it('is prepared for each combination of its Boolean variables', () => {
    const query = `query ($actor: Boolean!, $target: Boolean!, $more: Boolean!) { audit { nodes {
      id action occurredAt outcome ...M @include(if: $more)
      actor @include(if: $actor) { identifier name type } target @include(if: $target) { identifier name type } } } }
      fragment M on AuditEvent { ipAddress userAgent }`;
    const large = `query ($all: Boolean!) { audit { nodes { id } ...N @include(if: $all) } }
      fragment N on AuditEventConnection { a: nodes { ...E } b: nodes { ...E } c: nodes { ...E } d: nodes { ...E } }
      fragment E on AuditEvent { id action occurredAt outcome actor { ...P } target { ...P } }
      fragment P on AuditParty { i: identifier name type a: type b: type c: type d: type e: type f: type g: type h: type }`;
    return onGateway(
      () => ({ body: [{ id: 1 }] }),
      async ({ ask, logged }) => {
        const isPrepared = async (query: string, variables: object, headers = {}) => {
          const before = logged.length;
          await ask(query, { body: JSON.stringify({ query, variables }), headers });
          return logged.slice(before).join().includes('"prepared":true');
        };
        const flags = [true, false];
        const combinations = flags.flatMap((actor) =>
          flags.flatMap((target) => flags.map((more) => ({ actor, target, more }))),
        );
        expect(await isPrepared(query, combinations[0] ?? {})).toBe(false);
        for (const variables of combinations) expect(await isPrepared(query, variables)).toBe(true);
        expect(await isPrepared(large, { all: true })).toBe(false);
        expect(await isPrepared(large, { all: true })).toBe(false);
        expect(await isPrepared(large, { all: false })).toBe(true);
      },
    );
  });

  it('gets every character of a response with multi-byte characters, small or large', () => {
    const nodes = Array.from({ length: 1000 }, (_, index) => ({
      id: `${index} 日本 é 🔑`.repeat(9),
    }));
    return onGateway(
      () => ({ body: nodes }),
      async ({ ask, logged }) => {
        for (const first of [1, 1000, 1, 1000]) {
          const query = `{ audit(first: ${first}) { nodes { id } } }`;
          expect(await ask(query)).toMatchObject({
            data: { audit: { nodes: nodes.slice(0, first) } },
          });
        }
        expect(logged.filter((line) => line.includes('"prepared":true'))).toHaveLength(2);
      },
    );
  });

  it('is sent with the token of its own client', () =>
    onGateway(
      ({ headers }) => ({ body: [{ id: headers.authorization }] }),
      async ({ ask, logged }) => {
        const tokens = Array.from({ length: 50 }, (_, index) => `Bearer t${index}`);
        await ask(AUDIT);
        const responses = await Promise.all(
          tokens.map((authorization) => ask(AUDIT, { headers: { authorization } })),
        );
        expect(responses).toMatchObject(
          tokens.map((id) => ({ data: { audit: { nodes: [{ id }] } } })),
        );
        expect(logged.filter((line) => line.includes('"prepared":true'))).toHaveLength(50);
      },
    ));

  it('is executed once, even if graphql-js has to complete the result', () => {
    const sent: string[] = [];
    return onGateway(
      ({ method }) => {
        sent.push(method);
        return { status: 404 };
      },
      async ({ ask, logged }) => {
        const query = 'mutation ($id: ID!) { deleteApiKey(clientId: $id) { outcome } }';
        const body = JSON.stringify({ query, variables: { id: 'c' } });
        for (const count of [1, 2, 3]) {
          expect(await ask(query, { body })).toMatchObject({
            data: { deleteApiKey: null },
            errors: [{ path: ['deleteApiKey'], extensions: { code: 'NOT_FOUND' } }],
          });
          expect(sent).toHaveLength(count);
        }
        expect(logged.filter((line) => line.includes('"prepared":true'))).toHaveLength(2);
      },
    );
  });

  it('is cancelled when its client disconnects, while the service processes it or while it is queued', () => {
    let hangs = false;
    return onGateway(
      () => (hangs ? undefined : { body: [] }),
      async ({ ask, sockets, logged }) => {
        await ask(AUDIT);
        hangs = true;
        const client = new AbortController();
        const requests = Array.from({ length: 40 }, () => ask(AUDIT, { signal: client.signal }));
        await expect.poll(sockets).toBe(6); // of 8 connections, the limit of one caller
        client.abort();
        for (const request of requests) await expect(request).rejects.toThrow();
        await expect.poll(sockets).toBe(0);
        await expect
          .poll(() => logged.filter((line) => /"prepared":true.*"aborted":true/.test(line)))
          .toHaveLength(40);
        hangs = false;
        expect(await ask(AUDIT)).toMatchObject({ data: { audit: { nodes: [] } } });
      },
      { upstream: { timeoutMs: 60_000 } },
    );
  });

  it.each([
    ['alone', false],
    ['pipelined after another', true],
  ])('is not executed when its client disconnects before the last byte, %s', (_, isPipelined) => {
    const sent: string[] = [];
    let hangs = false;
    return onGateway(
      ({ method }) => {
        sent.push(method);
        return hangs && method === 'GET' ? undefined : { body: [] };
      },
      async ({ url, ask, logged }) => {
        const deletion = 'mutation { deleteApiKey(clientId: "c") { outcome } }';
        for (const query of [AUDIT, deletion]) await ask(query);
        hangs = true;
        const { hostname, port } = new URL(url);
        const socket = connect(Number(port), hostname);
        if (isPipelined) socket.write(toHttp(AUDIT, 0));
        socket.write(toHttp(deletion, 1));
        await ask('{ __typename }'); // by then the server has received what was written before
        socket.destroy();
        for (const query of ['{ __typename }', deletion, deletion]) await ask(query);
        expect(sent).toEqual([
          'GET',
          'DELETE',
          ...(isPipelined ? ['GET'] : []),
          'DELETE',
          'DELETE',
        ]);
        expect(logged.join()).not.toContain('BAD_REQUEST');
      },
      { upstream: { timeoutMs: 60_000 } },
    );
  });

  it('is executed when its last byte arrives, however late', () =>
    onGateway(
      () => ({ body: [{ id: 'é' }] }),
      async ({ url, ask, logged }) => {
        const { hostname, port } = new URL(url);
        const socket = connect(Number(port), hostname).setNoDelay(); // sends each chunk by itself
        for (const request of [toHttp(AUDIT, 0), toHttp(AUDIT, 0)]) {
          socket.write(request);
          await once(socket, 'data');
        }
        const [head, , body] = toHttp(AUDIT, 0).split(/(\r\n\r\n)/);
        for (const chunk of [`${head}\r\n\r\n`, body?.slice(0, 9), body?.slice(9)]) {
          await ask('{ __typename }'); // by then the server has received what was written before
          socket.write(String(chunk));
        }
        const [response] = await once(socket, 'data');
        expect(String(response)).toMatch(
          /^HTTP\/1.1 200 .*\r\n\r\n{"data":{"audit":{"nodes":\[{"id":"é"}\]}}}$/s,
        );
        expect(logged.at(-1)).toContain('prepared');
        socket.destroy();
      },
    ));

  it('is dropped when its connection is lost after the headers', async () => {
    const sent: string[] = [];
    await using service = await startService(({ method }) => {
      sent.push(method);
      return { body: [] };
    });
    await using gateway = gatewayOver(service.url);
    const handled: Promise<void>[] = [];
    const handle: Gateway['handle'] = (request, response) => {
      const done = gateway.handle(request, response);
      handled.push(done);
      request.destroy();
      return done;
    };
    await using server = await onPort({ ...gateway, handle });
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.write(toHttp(AUDIT, 1));
    await once(socket, 'close');
    expect(handled).toHaveLength(1);
    await Promise.all(handled);
    expect(sent).toEqual([]);
  });

  it('closes its connection while the gateway drains', () =>
    onGateway(
      () => ({ body: [] }),
      async ({ ask, draining }) => {
        await ask(AUDIT);
        draining.abort();
        expect(await ask(AUDIT)).toMatchObject({ connection: 'close', data: {} });
      },
    ));

  it('goes through Yoga’s pipeline with --disallow-code-generation-from-strings', async () => {
    await using service = await startService(() => ({ body: [{ id: '1' }] }));
    await using gateway = startKeytrail([], {
      ...{ PORT: '0', UPSTREAM_URL: service.url },
      NODE_OPTIONS: '--disallow-code-generation-from-strings',
    });
    const [, url = ''] = await gateway.until(/(http:\/\/127\.0\.0\.1:\d+\/graphql)/);
    const headers = { authorization: 'Bearer t', 'content-type': 'application/json' };
    for (const body of [1, 2, 3].map(() => JSON.stringify({ query: AUDIT }))) {
      const response = await fetch(url, { method: 'POST', headers, body });
      expect(await response.json()).toEqual({ data: { audit: { nodes: [{ id: '1' }] } } });
    }
    await gateway.until(/(?:"request".*\n.*){3}/);
    expect(gateway.output.stdout).not.toContain('"prepared"');
  });

  it('that meets a bug is masked and logged, and the next request is served', () => {
    let broken = false;
    const now = () => {
      if (broken) throw new RangeError('c4n4ry');
      return new Date();
    };
    const login =
      'mutation { login(clientId: "c", credential: {clientSecret: "s"}) { expiresAt } }';
    return onGateway(
      () => ({ body: { access_token: 'a', expires_in: 60 } }),
      async ({ ask, logged }) => {
        await ask(login);
        broken = true;
        const result = await ask(login);
        broken = false;
        expect(result).toMatchObject({
          data: { login: null },
          errors: [{ extensions: { code: 'INTERNAL_SERVER_ERROR' } }],
        });
        expect(logged.some((line) => line.includes('"bug":"RangeError"'))).toBe(true);
        expect(JSON.stringify(result) + logged.join()).not.toContain('c4n4ry');
        expect(await ask(login)).not.toHaveProperty('errors');
      },
      { now },
    );
  });
});
