import { expect } from 'vitest';
import { CANARY, expectNoCanary } from './canary.ts';
import { gatewayOver, type Overrides, onPort, type WireError } from './gateway.ts';
import { sendRaw } from './raw-socket.ts';
import { type Handler, type ReceivedRequest, startService } from './service.ts';
import { createTelemetry } from './telemetry.ts';

/** What came back over the port. */
export type Reply = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly data: unknown;
  /** Codes of the errors, by comma. */
  readonly code: string;
  readonly errors: readonly WireError[];
};

/** A gateway of the production profile on a port, over a service that may fail. */
export type FaultBench = {
  /** Where GraphQL is. */
  readonly url: string;
  /** What the service saw since the case began. */
  readonly seen: () => readonly ReceivedRequest[];
  /** Sockets that are open at the service. */
  readonly sockets: () => number;
  readonly logged: readonly string[];
  /** Sends anything by HTTP. */
  send(init: RequestInit & { readonly duplex?: 'half' }, url?: string): Promise<Reply>;
  /** Sends a document with the canary for a token, unless headers say otherwise. */
  ask(query: string, variables?: unknown, headers?: Record<string, string>): Promise<Reply>;
  /** Lets the service be gone while something is done: its port refuses connections. */
  withoutService(work: () => Promise<void>): Promise<void>;
  /** Sends bytes, and gives the bytes that come back. */
  raw(bytes: string): Promise<string>;
};

/** One of the three operations, with a canary in each place that it has for one. */
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

/** All three, for cases that are about each. */
export const OPERATIONS: readonly Operation[] = ['audit', 'login', 'deleteApiKey'];

/** Carries out an operation. */
export function run({ ask }: Pick<FaultBench, 'ask'>, operation: Operation): Promise<Reply> {
  const [query, variables] = DOCUMENTS[operation];
  return ask(query, variables);
}

/**
 * Runs a case: the service behaves as it says while `act` runs, and well before and after. Whatever the case is, no
 * canary was logged, counted, traced or came back, every answer forbids to be stored, the next request is served, and the sockets
 * to the service are back to where they were.
 */
export async function withstand(
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
      const answer = await sendRaw(server.url, bytes);
      replies.push(answer);
      expect(answer).toMatch(/^cache-control: no-store\r$/im);
      return answer;
    },
  });
  isCase = false;
  await expectServed();
  await expect.poll(() => service.sockets(), { timeout: 5000 }).toBeLessThanOrEqual(sockets);
  expect(telemetry.spans()).not.toEqual([]);
  expectNoCanary([...replies, ...gateway.logged, await telemetry.text()].join('\n'));
}

function readResult(text: string): Pick<Reply, 'data' | 'errors' | 'code'> {
  if (!text.startsWith('{')) return { data: undefined, errors: [], code: '' };
  const { data, errors = [] }: { data?: unknown; errors?: readonly WireError[] } = JSON.parse(text);
  return { data, errors, code: [...new Set(errors.map((e) => e.extensions.code))].join(',') };
}
