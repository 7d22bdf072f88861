import { expect } from 'vitest';
import type { GeneratedRequest } from './documents.ts';
import { gatewayOver, type Overrides, onPort, type TestGateway } from './gateway.ts';
import { type Handler, startService } from './service.ts';
import { createTelemetry } from './telemetry.ts';

const EVENTS = ['key.delete', 'client.login', 'key.create'].map((action, index) => ({
  id: `e${index}`,
  timestamp: new Date(Date.UTC(2026, 10, 20, index)).toISOString(),
  action,
  actor: { id: `u${index}`, name: 'Ann' },
  outcome: index === 1 ? 'failure' : 'success',
}));

/** The same response for the same request. */
const behave: Handler = ({ method, url, headers }) => {
  const token = headers.authorization ?? '';
  if (token.includes('refused')) return { status: 401 };
  if (token.includes('broken')) return { body: '<p>' };
  if (method === 'POST')
    return { body: '{"access_token":"a","refresh_token":"r","expires_in":60,"then":"b"}' };
  if (method === 'DELETE') return { status: url.endsWith('/a') ? 404 : 204 };
  // A record with a member `then` is no promise.
  const body = JSON.stringify({ events: EVENTS }).replaceAll('"timestamp"', '"then":{"id":1},$&');
  return { body };
};

const TOKENS = ['good', 'good', 'good', 'refused', 'broken', null];
const ACCEPTS = ['application/json', 'application/graphql-response+json', '*/*', null];

const NOW = new Date('2026-11-21T00:00:00Z');

/** Values for the variables of all documents of the suite. Unused ones are ignored. */
export const VARIABLES = {
  ...{
    clientId: 'c',
    first: 2,
    after: null,
    filter: { actor: 'u1' },
    parameters: [],
    withRaw: true,
  },
  credential: { clientSecret: 's' },
};

/** What must be the same on both paths. */
type Observed = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | null>>;
  readonly result: unknown;
  /** Requests to the service. */
  readonly sent: readonly string[];
  /** Log lines, without times. */
  readonly logged: unknown;
  /** Spans, with their attributes. */
  readonly spans: unknown;
};

const HEADERS = ['content-type', 'cache-control', 'x-content-type-options', 'x-request-id'];

/** Sends each request through `fetch` (Yoga) and to a port until it takes the fast path, and expects equal results. Returns how many took the fast path. */
export async function compareBothPaths(
  requests: Iterable<GeneratedRequest>,
  overrides: Overrides = {},
): Promise<number> {
  await using service = await startService(behave);
  const telemetry = createTelemetry();
  await using gateway: TestGateway = gatewayOver(service.url, {
    ...telemetry.parts,
    now: () => NOW,
    ...overrides,
  });
  await using server = await onPort(gateway);
  const ask = async (
    send: typeof fetch,
    body: string,
    init: Record<string, string>,
  ): Promise<Observed> => {
    const before = [service.seen.length, gateway.logged.length, telemetry.spans().length];
    const [sentBefore, loggedBefore, spansBefore] = before;
    const headers = { 'content-type': 'application/json', 'x-request-id': 'r', ...init };
    const response = await send(`${server.url}/graphql`, { method: 'POST', headers, body });
    const sent = service.seen
      .slice(sentBefore)
      .map(({ method, url, headers: { authorization }, body: text }) =>
        [method, url, authorization, text].join(' '),
      );
    const result: unknown = await response.json();
    return {
      status: response.status,
      headers: Object.fromEntries(HEADERS.map((name) => [name, response.headers.get(name)])),
      result,
      sent: sent.sort(),
      logged: gateway.logged.slice(loggedBefore).map((text) => {
        const { time: _, durationMs: __, prepared: ___, ...line } = JSON.parse(text);
        return line;
      }),
      spans: telemetry
        .spans()
        .slice(spansBefore)
        .map(({ name, attributes }) => JSON.stringify([name, attributes]))
        .sort(),
    };
  };
  let index = 0;
  for (const request of requests) {
    index += 1;
    const [token, accept] = [TOKENS[index % TOKENS.length], ACCEPTS[index % ACCEPTS.length]];
    const headers = {
      ...(token && { authorization: `Bearer ${token}` }),
      ...(accept && { accept }),
    };
    const body = JSON.stringify(request);
    const expected = await ask(gateway.fetch, body, headers);
    const times = expected.status === 200 ? 3 : 1;
    for (let time = 0; time < times; time += 1) {
      expect(await ask(fetch, body, headers), body).toEqual(expected);
    }
  }
  return gateway.logged.filter((line) => line.includes('"prepared":true')).length;
}
