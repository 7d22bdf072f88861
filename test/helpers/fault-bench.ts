import { expect } from 'vitest';
import { CANARY, expectNoCanary } from './canary.ts';
import { gatewayOver, type Overrides, onPort, type WireError } from './gateway.ts';
import { sendRaw } from './raw-socket.ts';
import { type Handler, type ReceivedRequest, startService } from './service.ts';
import { createTelemetry } from './telemetry.ts';

/** A response of the gateway over its port. */
export type Reply = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly data: unknown;
  /** Codes of the errors, separated by commas. */
  readonly code: string;
  readonly errors: readonly WireError[];
};

/** A gateway with production settings on a port, in front of a service that may fail. */
export type FaultBench = {
  /** The GraphQL endpoint. */
  readonly url: string;
  /** Requests that the service received since the case started. */
  readonly seen: () => readonly ReceivedRequest[];
  /** Number of open sockets at the service. */
  readonly sockets: () => number;
  readonly logged: readonly string[];
  /** Sends any HTTP request. */
  send(init: RequestInit & { readonly duplex?: 'half' }, url?: string): Promise<Reply>;
  /** Sends a document with the canary as token, unless `headers` override it. */
  ask(query: string, variables?: unknown, headers?: Record<string, string>): Promise<Reply>;
  /** Stops the service while `work` runs: its port refuses connections. */
  withoutService(work: () => Promise<void>): Promise<void>;
  /** Sends bytes and returns the bytes of the response. */
  raw(bytes: string): Promise<string>;
};

/** One of the three operations, with a canary in every value. */
export type Operation = 'audit' | 'login' | 'deleteApiKey';

const DOCUMENTS = {
  audit: [
    `query ($v: String!) { audit(filter: {actor: "${CANARY.literal}"}, parameters: [{name: $v, value: $v}]) { nodes { id } } }`,
    { v: CANARY.variable },
  ],
  login: [
    'mutation ($c: ID!, $s: String!) { login(clientId: $c, credential: {clientSecret: $s}) { tokenType } }',
    { c: CANARY.clientId, s: CANARY.clientSecret },
  ],
  deleteApiKey: [
    'mutation ($c: ID!) { deleteApiKey(clientId: $c) { outcome } }',
    { c: CANARY.clientId },
  ],
} as const satisfies Record<Operation, readonly [query: string, variables: object]>;

/** All three, for cases that apply to each. */
export const OPERATIONS: readonly Operation[] = ['audit', 'login', 'deleteApiKey'];

/** Executes an operation. */
export function run({ ask }: Pick<FaultBench, 'ask'>, operation: Operation): Promise<Reply> {
  const [query, variables] = DOCUMENTS[operation];
  return ask(query, variables);
}

/**
 * Runs a case: the service behaves as `behave` while `act` runs, and normally before and after. Expects of every case:
 * no canary was logged, counted, traced or returned; every response has `cache-control: no-store`; the next request is
 * served; and no socket to the service is left open.
 */
export async function runFaultCase(
  behave: Handler | null,
  act: (bench: FaultBench) => Promise<void>,
  overrides: Overrides = {},
): Promise<void> {
  let isCase = false;
  const handler: Handler = (...request) =>
    isCase && behave !== null ? behave(...request) : { body: [] };
  let service = await startService(handler);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => service[Symbol.asyncDispose]());
  const telemetry = createTelemetry();
  await using gateway = gatewayOver(service.url, {
    introspection: false,
    ...telemetry.parts,
    ...overrides,
  });
  await using server = await onPort(gateway);
  const url = `${server.url}/graphql`;
  const replies: string[] = [];

  const send: FaultBench['send'] = async (init, to = url): Promise<Reply> => {
    const response = await fetch(to, init);
    const text = await response.text();
    replies.push(text, JSON.stringify([...response.headers]));
    expect(response.headers.get('cache-control')).toBe('no-store');
    return { status: response.status, headers: response.headers, text, ...readResult(text) };
  };
  const ask: FaultBench['ask'] = (query, variables, headers) =>
    send({
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${CANARY.accessToken}`,
        ...headers,
      },
      body: JSON.stringify({ query, variables }),
    });
  const expectServed = async () => {
    const { data } = await run({ ask }, 'audit');
    expect(data).toEqual({ audit: { nodes: [] } });
  };

  await expectServed();
  const sockets = service.sockets();
  const before = service.seen.length;
  isCase = true;
  await act({
    url,
    seen: () => service.seen.slice(before),
    sockets: () => service.sockets(),
    logged: gateway.logged,
    send,
    ask,
    withoutService: async (work) => {
      await service[Symbol.asyncDispose]();
      await work();
      service = await startService(handler, Number(new URL(service.url).port));
    },
    raw: async (bytes) => {
      const response = await sendRaw(server.url, bytes);
      replies.push(response);
      expect(response).toMatch(/^cache-control: no-store\r$/im);
      return response;
    },
  });
  isCase = false;
  await expectServed();
  await expect.poll(() => service.sockets()).toBeLessThanOrEqual(sockets);
  expect(telemetry.spans()).not.toEqual([]);
  expectNoCanary([...replies, ...gateway.logged, await telemetry.text()].join('\n'));
}

function readResult(text: string): Pick<Reply, 'data' | 'errors' | 'code'> {
  if (!text.startsWith('{')) return { data: undefined, errors: [], code: '' };
  const { data, errors = [] }: { data?: unknown; errors?: readonly WireError[] } = JSON.parse(text);
  return { data, errors, code: [...new Set(errors.map((e) => e.extensions.code))].join(',') };
}
