import { describe, expect, it } from 'vitest';
import { ask, onPort, post } from '../../helpers/gateway.ts';
import { record, records, startLiveTrail } from '../../helpers/live-trail.ts';
import { AUDIT_EVENTS, readEvents, requestEvents, subscribe } from '../../helpers/subscribe.ts';

const BODY = JSON.stringify({ query: AUDIT_EVENTS });
const DELETION = 'mutation { deleteApiKey(clientId: "c") { outcome } }';
const LOGIN = 'mutation { login(clientId: "c", credential: {clientSecret: "s"}) { tokenType } }';

describe('the response to a subscription', () => {
  it('is a stream of events that no cache and no proxy holds back, and has no encoding', async () => {
    await using live = await startLiveTrail();
    live.list(1);
    await using server = await onPort(live.gateway);
    for (const fetcher of [live.gateway, { fetch }]) {
      await using stream = await subscribe(fetcher, {}, { url: `${server.url}/graphql` });
      const { status, headers } = stream.response;
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('text/event-stream');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-accel-buffering')).toBe('no');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-request-id')).toMatch(/^[\w-]{36}$/);
      expect(headers.get('content-encoding')).toBeNull();
      await stream.nextBatch();
      expect(stream.received()).toMatch(/^(?::\n\n)+event: next\ndata: \{"data":.*\}\n\n/);
    }
  });

  it('is an instance of the platform’s Response, with a body of the platform and no header of the connection', async () => {
    await using live = await startLiveTrail();
    const response = await requestEvents(live.gateway);
    expect(response).toBeInstanceOf(Response);
    expect(response.body).toBeInstanceOf(ReadableStream);
    expect(response.headers.get('connection')).toBeNull();
    await response.body?.cancel();
  });

  it('is readable by pages of an allowed origin only', async () => {
    await using live = await startLiveTrail({ corsOrigins: ['https://app.test'] });
    for (const [origin, allowed] of [
      ['https://app.test', 'https://app.test'],
      ['https://evil.test', null],
    ] as const) {
      await using stream = await subscribe(live.gateway, {}, { headers: { origin } });
      expect(stream.response.headers.get('access-control-allow-origin')).toBe(allowed);
      expect(stream.response.headers.get('vary')).toContain('Origin');
    }
  });

  it.each([
    'text/event-stream',
    'text/*',
    '*/*',
    'application/json, text/event-stream',
    'text/event-stream;q=0.1, application/json',
  ])('is sent if the client accepts %s', async (accept) => {
    await using live = await startLiveTrail();
    live.list(1);
    await using stream = await subscribe(live.gateway, {}, { headers: { accept } });
    expect((await stream.nextBatch()).nodes).toEqual([]);
  });

  it.each([
    'application/json',
    'application/graphql-response+json',
    'text/html',
    'text/event-stream;q=0, application/json',
    'multipart/mixed, application/json',
  ])('is 406 as JSON if the client accepts %s, and nothing is sent', async (accept) => {
    await using live = await startLiveTrail();
    const headers = { accept, authorization: 'Bearer t' };
    const { status, errors } = await post(live.gateway, BODY, headers);
    expect([status, errors?.[0]?.extensions.code]).toEqual([406, 'BAD_REQUEST']);
    expect(live.service.seen).toEqual([]);
    expect(live.pauses.waits).toEqual([]);
  });

  it('comes by GET as well, for EventSource', async () => {
    await using live = await startLiveTrail();
    live.list(1);
    await using server = await onPort(live.gateway);
    for (const fetcher of [live.gateway.fetch, fetch]) {
      const url = `${server.url}/graphql?${new URLSearchParams({ query: AUDIT_EVENTS })}`;
      const headers = { accept: 'text/event-stream', authorization: 'Bearer t' };
      await using stream = readEvents(await fetcher(url, { headers }));
      expect((await stream.nextBatch()).nodes).toEqual([]);
    }
  });

  it.each([
    ['a syntax error', 'subscription {', 'GRAPHQL_PARSE_FAILED'],
    ['an unknown field', 'subscription { nope }', 'GRAPHQL_VALIDATION_FAILED'],
    ['no stream at all', 'subscription { __typename }', 'GRAPHQL_VALIDATION_FAILED'],
  ])(
    'to a document with %s is an error as JSON, or an event for a client that accepts nothing else',
    async (_, query, code) => {
      await using live = await startLiveTrail();
      const headers = { accept: 'text/event-stream, application/json' };
      const { errors } = await ask(live.gateway, query, {}, { headers });
      expect(errors?.map(({ extensions }) => extensions.code)).toEqual([code]);
      await using stream = await subscribe(live.gateway, {}, { query });
      expect(stream.response.status).toBe(200);
      const payloads = await stream.rest();
      expect(payloads.map(({ errors }) => errors?.[0]?.extensions.code)).toEqual([code]);
    },
  );

  it.each([
    ['a literal', 'subscription { auditEvents @skip(if: true) { checkpoint } }'],
    ['a literal that selects it', 'subscription { auditEvents @include(if: true) { checkpoint } }'],
    [
      'a variable',
      'subscription ($x: Boolean = false) { auditEvents @skip(if: $x) { checkpoint } }',
    ],
    [
      'an inline fragment',
      'subscription { ... @include(if: false) { auditEvents { checkpoint } } }',
    ],
    [
      'a spread',
      'subscription { ...A } fragment A on Subscription { ... { ...B @skip(if: true) } } fragment B on Subscription { auditEvents { checkpoint } }',
    ],
    [
      'a field of fragments',
      'subscription { ...A } fragment A on Subscription { ...B } fragment B on Subscription { auditEvents @skip(if: true) { checkpoint } ...A }',
    ],
    [
      'a field of an operation that is not executed',
      'query Q { __typename } subscription S { auditEvents @skip(if: true) { checkpoint } }',
    ],
  ])('to a document with a directive at its root, on %s, is 400', async (_, query) => {
    await using live = await startLiveTrail();
    for (const events of ['', ', text/event-stream']) {
      const headers = { accept: `application/graphql-response+json${events}` };
      const body = JSON.stringify({
        query,
        ...(query.startsWith('query Q') && { operationName: 'Q' }),
      });
      const { status, errors } = await post(live.gateway, body, headers);
      expect([status, errors?.[0]?.extensions.code]).toEqual([400, 'GRAPHQL_VALIDATION_FAILED']);
      expect(errors?.[0]?.message).toContain('`@skip`');
    }
    expect(live.gateway.logged.join()).not.toContain('"bug"');
    expect(live.service.seen).toEqual([]);
  });

  it('may have directives below its root', async () => {
    await using live = await startLiveTrail();
    live.list(1);
    const query =
      'subscription ($x: Boolean!) { ...A } fragment A on Subscription { auditEvents { checkpoint @skip(if: $x) ... @include(if: $x) { missed } } }';
    await using stream = await subscribe(live.gateway, { x: true }, { query });
    expect(await stream.next()).toEqual({ data: { auditEvents: { missed: false } } });
  });

  it('is 200, an event with the error and its request id if an argument is wrong, then complete', async () => {
    await using live = await startLiveTrail();
    await using stream = await subscribe(live.gateway, { every: 1 });
    expect(stream.response.status).toBe(200); // EventSource gives up on any other status
    const [payload, ...others] = await stream.rest();
    const requestId = stream.response.headers.get('x-request-id');
    expect(payload?.errors?.[0]?.extensions).toEqual({
      code: 'BAD_USER_INPUT',
      retryable: false,
      requestId,
    });
    expect(others).toEqual([]);
  });

  it('with a wrong variable quotes no value', async () => {
    await using live = await startLiveTrail();
    await using stream = await subscribe(live.gateway, { after: { secret: 'canary' } });
    const [payload] = await stream.rest();
    expect(payload?.errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
    expect(stream.received()).not.toContain('canary');
  });
});

describe('a query or a mutation', () => {
  it.each([DELETION, LOGIN])(
    'is refused as an event for a client that accepts only events, and nothing is sent: %s',
    async (query) => {
      await using live = await startLiveTrail();
      for (const _ of [1, 2, 3]) {
        await using stream = await subscribe(live.gateway, {}, { query });
        expect(stream.response.status).toBe(200);
        expect(stream.response.headers.get('content-type')).toBe('text/event-stream');
        const payloads = await stream.rest();
        const errors = payloads.flatMap((payload) => payload.errors ?? []);
        expect(errors.map(({ extensions }) => extensions.code)).toEqual(['BAD_REQUEST']);
        expect(errors[0]?.message).toContain('application/json');
      }
      expect(live.service.seen).toEqual([]);
    },
  );

  it('that reads is one event for a client that accepts only events, however often', async () => {
    await using live = await startLiveTrail();
    await using server = await onPort(live.gateway);
    live.list(1, 2);
    const query = '{ audit { totalCount } }';
    for (const _ of [1, 2, 3]) {
      await using stream = await subscribe({ fetch }, {}, { query, url: `${server.url}/graphql` });
      expect(await stream.rest()).toEqual([{ data: { audit: { totalCount: 2 } } }]);
      const body = JSON.stringify({ query });
      const json = await post(live.gateway, body, { authorization: 'Bearer t' });
      expect(json.headers.get('content-type')).toMatch(/^application\/json/);
    }
  });

  it.each([
    ['no token', null, {}, 'UNAUTHENTICATED'],
    ['a token that the service rejects', 't', { status: 401 }, 'UNAUTHENTICATED'],
    ['a service that fails', 't', { status: 500 }, 'UPSTREAM_ERROR'],
  ] as const)('with %s is one event with the reason', async (_, token, response, code) => {
    await using live = await startLiveTrail();
    live.respond(response);
    const query = '{ audit { totalCount } }';
    await using stream = await subscribe(live.gateway, {}, { query, token });
    expect(stream.response.status).toBe(200);
    const payloads = await stream.rest();
    expect(payloads.map(({ errors }) => errors?.[0]?.extensions.code)).toEqual([code]);
  });

  it('is JSON for a client that prefers events', async () => {
    await using live = await startLiveTrail();
    const headers = { accept: 'text/event-stream, application/json;q=0.1' };
    const result = await ask(live.gateway, '{ audit { totalCount } }', {}, { token: 't', headers });
    expect(result.headers.get('content-type')).toMatch(/^application\/json/);
    expect(result.data).toEqual({ audit: { totalCount: 0 } });
  });
});

describe('the playground', () => {
  it('has a tab with a subscription, whose response is a stream', async () => {
    await using live = await startLiveTrail({ playground: {} });
    live.list(1);
    const url = 'http://gateway.test/graphql';
    const page = await (await live.gateway.fetch(url, { headers: { accept: 'text/html' } })).text();
    const [, json = ''] = /^ *const page = (.*);$/m.exec(page) ?? [];
    const { tabs } = JSON.parse(json);
    const { query, variables } = tabs.find(
      ({ title }: { title: string }) => title === 'AuditEvents',
    );
    await using stream = await subscribe(live.gateway, JSON.parse(variables), { query });
    expect(await stream.next()).toEqual({ data: { auditEvents: { nodes: [], missed: false } } });
  });
});

describe('the prepared operations', () => {
  it('never contain a subscription: the third one is a stream, too', async () => {
    await using live = await startLiveTrail();
    live.list(1);
    await using server = await onPort(live.gateway);
    for (let times = 0; times < 3; times += 1) {
      await using stream = await subscribe({ fetch }, {}, { url: `${server.url}/graphql` });
      expect((await stream.nextBatch()).nodes).toEqual([]);
    }
    expect(live.gateway.logged.join()).not.toContain('"prepared":true');
  });

  it('have the query of a document that has a subscription as well', async () => {
    await using live = await startLiveTrail();
    live.list(1);
    await using server = await onPort(live.gateway);
    const url = `${server.url}/graphql`;
    const query = 'query Q { audit { totalCount } } subscription S { auditEvents { checkpoint } }';
    const send = (operationName: string) =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer t' },
        body: JSON.stringify({ query, operationName }),
      });
    for (let times = 0; times < 3; times += 1) {
      expect(await (await send('Q')).json()).toEqual({ data: { audit: { totalCount: 1 } } });
      await using stream = readEvents(await send('S'));
      expect(await stream.next()).toMatchObject({ data: { auditEvents: {} } });
    }
  });
});

describe('a bug in a poll', () => {
  const bug = () => {
    throw new TypeError('canary');
  };

  it('is masked with a code and the request id, logged without its message, and completes the stream', async () => {
    let isBroken = false;
    await using live = await startLiveTrail({
      contract: { audit: { total: '/nothing' } },
      observer: { onDrift: () => (isBroken ? bug() : undefined) },
    });
    live.respond({ body: { events: records(1) } });
    await using server = await onPort(live.gateway);
    await using stream = await subscribe({ fetch }, {}, { url: `${server.url}/graphql` });
    await stream.nextBatch();
    await live.pauses.paused();
    isBroken = true;
    live.pauses.resume();
    const [payload, ...others] = await stream.rest();
    const requestId = stream.response.headers.get('x-request-id');
    expect(payload?.data).toEqual({ auditEvents: null });
    expect(payload?.errors?.map(({ extensions }) => extensions)).toEqual([
      { code: 'INTERNAL_SERVER_ERROR', retryable: false, requestId },
    ]);
    expect(others).toEqual([]);
    const logged = live.gateway.logged.map((line) => JSON.parse(line));
    expect(logged.find(({ msg }) => msg === 'bug')).toMatchObject({ requestId, bug: 'TypeError' });
    expect(live.gateway.logged.join() + stream.received()).not.toContain('canary');
  });
});

describe('a payload', () => {
  it('may have a record with a member `then`, which is no promise', async () => {
    await using live = await startLiveTrail();
    const unusual = record(1, JSON.parse('{"then": "later"}')); // no literal: it would be a promise to linters, too
    live.respond({ body: [unusual] });
    const query = `subscription { auditEvents(filter: {since: "${unusual.time}"}) { nodes { raw } } }`;
    await using stream = await subscribe(live.gateway, {}, { query });
    expect(await stream.next()).toEqual({ data: { auditEvents: { nodes: [{ raw: unusual }] } } });
  });
});
