import { expect } from 'vitest';
import type { GeneratedRequest } from './documents.ts';
import { gatewayOver, onPort, type TestGateway } from './gateway.ts';
import { type Handler, startService } from './service.ts';
import { createTelemetry } from './telemetry.ts';

const EVENTS = ['key.delete', 'client.login', 'key.create'].map((action, index) => ({
  id: `e${index}`,
  timestamp: new Date(Date.UTC(2026, 10, 20, index)).toISOString(),
  action,
  actor: { id: `u${index}`, name: 'Ann' },
  outcome: index === 1 ? 'failure' : 'success',
}));

/** Answers by what is asked, always the same. */
const behave: Handler = ({ method, url, headers }) => {
  const token = headers.authorization ?? '';
  if (token.includes('refused')) return { status: 401 };
  if (token.includes('broken')) return { body: '<p>' };
  if (method === 'POST')
    return { body: '{"access_token":"a","refresh_token":"r","expires_in":60,"then":"b"}' };
  if (method === 'DELETE') return { status: url.endsWith('/a') ? 404 : 204 };
  // None of them is a promise.
  const body = JSON.stringify({ events: EVENTS }).replaceAll('"timestamp"', '"then":{"id":1},$&');
  return { body };
};

const TOKENS = ['good', 'good', 'good', 'refused', 'broken', null];
const ACCEPTS = ['application/json', 'application/graphql-response+json', '*/*', null];

const NOW = new Date('2026-11-21T00:00:00Z');

/** For whatever the documents of the suite ask: more than they need does no harm. */
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

/** What must be the same both ways. */
type Seen = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | null>>;
  readonly result: unknown;
  /** What the service was sent. */
  readonly sent: readonly string[];
  /** What was logged, without what differs each time. */
  readonly logged: unknown;
  /** Spans, with their attributes. */
  readonly spans: unknown;
};

const HEADERS = ['content-type', 'cache-control', 'x-content-type-options', 'x-request-id'];

/** Sends requests by both ways, to `fetch` and to a port until they are prepared, expects the same, and gives how many were prepared. */
export async function compareBothPaths(requests: Iterable<GeneratedRequest>): Promise<number> {
  await using service = await startService(behave);
  const telemetry = createTelemetry();
  await using gateway: TestGateway = gatewayOver(service.url, {
    ...telemetry.parts,
    now: () => NOW,
  });
  await using server = await onPort(gateway);
  const ask = async (
    send: typeof fetch,
    body: string,
    init: Record<string, string>,
  ): Promise<Seen> => {
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
      logged: gateway.logged.slice(loggedBefore).map((line) => {
        const { time: _, durationMs: __, prepared: ___, ...told } = JSON.parse(line);
        return told;
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
    const longWay = await ask(gateway.fetch, body, headers);
    const times = longWay.status === 200 ? 3 : 1;
    for (let time = 0; time < times; time += 1) {
      expect(await ask(fetch, body, headers), body).toEqual(longWay);
    }
  }
  return gateway.logged.filter((line) => line.includes('"prepared":true')).length;
}
