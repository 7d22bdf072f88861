import { setTimeout as wait } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Pool } from 'undici';

/** A POST to Keytrail. */
export type GraphQLRequest = {
  /** Sent as `x-request-id`. */
  readonly id: string;
  readonly body: string;
  /** Names and values in turn, so that a name can be repeated. */
  readonly headers: readonly string[];
};

/** Keytrail's response. */
export type GraphQLResponse = {
  readonly status: number;
  /** Whether it has the request's `x-request-id`. */
  readonly hasRequestId: boolean;
  readonly data: unknown;
  /** `extensions` of the first error; null without errors. */
  readonly error: {
    readonly code: string;
    readonly reason?: string;
    readonly retryAfterSeconds?: number;
  } | null;
};

/** A client of Keytrail with keep-alive and unlimited connections. */
export type Client = AsyncDisposable & {
  readonly url: URL;
  /** Rejects if there is no JSON response within 30 s, or if the signal is aborted. */
  post(request: GraphQLRequest, signal?: AbortSignal): Promise<GraphQLResponse>;
  /** Disconnects once the response has begun. Rejects if it does not begin with data. */
  postAndDisconnect(request: GraphQLRequest): Promise<undefined>;
};

/** Three times Keytrail's default deadline. */
const TIMEOUT_MS = 30_000;

/** Creates a client. It connects at the first request. */
export function createClient(address: string): Client {
  const url = new URL(address);
  const pool = new Pool(url.origin, { headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS });
  const send = ({ id, body, headers }: GraphQLRequest, signal: AbortSignal | null = null) =>
    pool.request({
      method: 'POST',
      path: url.pathname,
      headers: ['accept', 'application/json', 'x-request-id', id, ...headers],
      body,
      signal,
    });
  return {
    url,
    post: async (request, signal) => {
      const { statusCode, headers, body } = await send(request, signal);
      const text = await body.text();
      if (!text.startsWith('{')) throw new Error(`Status ${statusCode} without JSON.`);
      const result: {
        data?: unknown;
        errors?: readonly { extensions: GraphQLResponse['error'] }[];
      } = JSON.parse(text);
      return {
        status: statusCode,
        hasRequestId: headers['x-request-id'] === request.id,
        data: result.data,
        error: result.errors?.[0]?.extensions ?? null,
      };
    },
    postAndDisconnect: async (request) => {
      const { body } = await send(request);
      for await (const chunk of body) {
        if (!String(chunk).startsWith('{"data":{')) throw new Error('The response has no data.');
        break;
      }
      return undefined;
    },
    [Symbol.asyncDispose]: () => pool.destroy(),
  };
}

/** The expected response: by default status 200 with the request's id, without data and without an error. */
export type ExpectedResponse = {
  readonly status?: number;
  readonly hasRequestId?: boolean;
  readonly data?: unknown;
  readonly code?: string;
  readonly reason?: string;
};

/** Compares every value of a response. */
export function isExpected(
  { status, hasRequestId, data, error }: GraphQLResponse,
  expected: ExpectedResponse,
): boolean {
  const { code, reason } = error ?? {};
  const none = { data: undefined, code: undefined, reason: undefined };
  return isDeepStrictEqual(
    { status, hasRequestId, data, code, reason },
    { status: 200, hasRequestId: true, ...none, ...expected },
  );
}

const TICK_MS = 5;

/**
 * Sends requests at a constant rate per second, without waiting for responses (an open loop), until the signal is
 * aborted and all have settled. Returns the longest delay of this process in milliseconds: latencies measured meanwhile
 * may be too long by as much.
 */
export async function sendAtRate(
  rate: number,
  until: AbortSignal,
  send: (number: number) => Promise<void>,
): Promise<number> {
  const pending = new Set<Promise<void>>();
  const start = performance.now();
  let sent = 0;
  let lastTick = start;
  let delay = 0;
  while (!until.aborted) {
    const now = performance.now();
    delay = Math.max(delay, now - lastTick - TICK_MS);
    lastTick = now;
    for (; sent < ((now - start) / 1000) * rate; sent += 1) {
      const sending = send(sent);
      pending.add(sending);
      void sending.finally(() => pending.delete(sending));
    }
    await wait(TICK_MS);
  }
  await Promise.all(pending);
  return delay;
}
