import { expect, it } from 'vitest';
import { startMeasuredGateway } from '../helpers/memory.ts';
import { type Handler, startService } from '../helpers/service.ts';
import { subscribe } from '../helpers/subscribe.ts';

const LOGIN = 'login(clientId: $client, credential: {clientSecret: $secret}) { accessToken }';
const VARIABLES = '$client: ID!, $secret: String!, $flag: Boolean! = true';
const WRITTEN = LOGIN.replace('$client', '"canary-written"').replace('$secret', '"canary-written"');

type TestRequest = {
  readonly query: string;
  readonly operationName?: string;
  readonly method?: string;
};

/** Each is sent three times, with canaries in its variables and headers. */
const REQUESTS: Readonly<Record<string, string | TestRequest>> = {
  login: `mutation (${VARIABLES}) { ${LOGIN} __typename @include(if: $flag) }`,
  audit: 'query ($client: String!) { audit(filter: {actor: $client}) { nodes { id raw } } }',
  deletion: 'mutation ($client: ID!) { deleteApiKey(clientId: $client) { __typename } }',
  written: `mutation { ${WRITTEN} }`,
  writtenAndInvalid: `mutation { ${WRITTEN} nothing }`,
  writtenIntoQuery: `{ ${WRITTEN} }`,
  writtenIntoSubscription: `subscription { ${WRITTEN} }`,
  writtenBesideOthers: `{ ${WRITTEN} } query B { __typename }`,
  writtenIntoSchema: 'type Query { audit: String @deprecated(reason: "canary-written") }',
  writtenAndMisnamed: { query: `{ ${WRITTEN} }`, operationName: 'Another' },
  writtenIntoMutationByGet: { query: `mutation { ${WRITTEN} }`, method: 'GET' },
  writtenByGet: { query: `{ ${WRITTEN} }`, operationName: 'Another', method: 'GET' },
  number: 'mutation { deleteApiKey(clientId: 7771234567) { __typename } }',
  comment: `mutation (${VARIABLES}) { ${LOGIN} __typename @include(if: $flag) } # canary-comment`,
  invalid: `mutation (${VARIABLES}) { ${LOGIN} nothing(of: $flag) }`,
  unparsable: `mutation (${VARIABLES}) { ${LOGIN} `,
  excessive: `mutation (${VARIABLES}) { a: ${LOGIN} b: ${LOGIN} __typename @include(if: $flag) }`,
  unfitting: `mutation (${VARIABLES}, $miss: Boolean!) { ${LOGIN} a: __typename @skip(if: $flag) b: __typename @skip(if: $miss) }`,
};

const CANARIES = { access_token: 'canary-answer', events: [{ id: 'canary-record' }] };

const RESPONSES: Readonly<Record<string, Handler>> = {
  'a success': () => ({ body: CANARIES }),
  'status 400': () => ({ status: 400, body: CANARIES }),
  'status 500': () => ({ status: 500, body: CANARIES }),
  'invalid JSON': () => ({ body: 'canary-text' }),
  'a closed connection': (_, response) => {
    response.destroy();
    return undefined;
  },
};

it.each(Object.keys(RESPONSES))('no value of a request stays in memory after %s', async (name) => {
  let respond = RESPONSES[name];
  await using service = await startService((...request) => respond?.(...request));
  await using gateway = await startMeasuredGateway(service.url);
  const ask = async (request: TestRequest, variables: object, token: string) => {
    const { query, operationName, method = 'POST' } = request;
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const search = new URLSearchParams({ query, ...(operationName && { operationName }) });
    const response =
      method === 'GET'
        ? await fetch(`${gateway.url}?${search}`, { headers })
        : await fetch(gateway.url, {
            ...{ method, headers },
            body: JSON.stringify({ query, operationName, variables }),
          });
    return response.text();
  };
  for (const [kind, request] of Object.entries(REQUESTS)) {
    for (const time of [1, 2, 3]) {
      const [client, secret, token] = ['client', 'secret', 'token'].map(
        (what) => `canary-${what}-${kind}-${time}`,
      );
      await ask(
        typeof request === 'string' ? { query: request } : request,
        { client, secret },
        String(token),
      );
    }
  }
  respond = () => ({ body: [] }); // evicts what is kept only until the next request
  for (let count = 0; count < 20; count += 1)
    await ask({ query: '{ audit { nodes { id } } }' }, {}, 'other');
  const snapshot = await gateway.snapshot();
  expect(snapshot).toContain('deleteApiKey');
  expect(new Set(snapshot.match(/canary[\w-]*|7771234567/g))).toEqual(new Set());
});

/** The service's response to the first poll of a stream, by what the stream's token contains. */
const POLLS: Readonly<Record<string, Handler>> = {
  pausing: () => ({
    body: [{ id: 'canary-record', at: '2026-11-21T06:20:33Z', actor: 'canary-actor' }],
  }),
  failed: () => ({ status: 500, body: { note: 'canary-text' } }),
  polling: () => undefined, // no response
  expired: () => ({ status: 401, body: { note: 'canary-text' } }),
  // Two payloads that no client reads: the gateway waits until it can write the second one.
  blocked: () => ({
    body: Array.from({ length: 1100 }, (_, number) => ({
      id: `canary-record-${number}-${'i'.repeat(14_000)}`,
      at: new Date(Date.UTC(2026, 10, 21, 6) - 1000 * number),
      actor: 'canary-actor',
    })),
  }),
};

it('the token of a stream stays in memory until its end, and no value of the stream after it', async () => {
  const polled = new Set<string>();
  await using service = await startService((seen, ...response) => {
    const [, name = ''] = /canary-token-(\w+)/.exec(seen.headers.authorization ?? '') ?? [];
    polled.add(name);
    return POLLS[name]?.(seen, ...response) ?? (name === '' ? { body: [] } : undefined);
  });
  await using gateway = await startMeasuredGateway(service.url);
  const canaries = async () => {
    const headers = { 'content-type': 'application/json', authorization: 'Bearer other' };
    const body = JSON.stringify({ query: '{ audit { nodes { id } } }' });
    // evicts what is kept only until the next request
    for (let count = 0; count < 20; count += 1)
      await (await fetch(gateway.url, { method: 'POST', headers, body })).text();
    return new Set((await gateway.snapshot()).match(/canary[\w-]*/g));
  };
  const filter = { since: '2026-11-21T00:00:00Z', actor: 'canary-actor' };
  const streams = await Promise.all(
    Object.keys(POLLS).map((name) =>
      subscribe({ fetch }, { filter }, { url: gateway.url, token: `canary-token-${name}` }),
    ),
  );
  expect(await streams[0]?.nextBatch()).toMatchObject({ nodes: [{ id: 'canary-record' }] });
  await expect.poll(() => [...polled].sort()).toEqual(Object.keys(POLLS).sort());
  expect(await streams[3]?.rest()).toMatchObject([
    { errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] },
  ]);
  const open = await canaries();
  for (const name of ['pausing', 'failed', 'polling', 'blocked'])
    expect(open).toContain(`canary-token-${name}`);
  expect(open).not.toContain('canary-token-expired');
  await Promise.all(streams.map((stream) => stream[Symbol.asyncDispose]()));
  await expect.poll(canaries).toEqual(new Set());
});
