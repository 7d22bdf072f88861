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
export type GraphQLResponse = ExpectedResponse & { readonly retryAfterSeconds?: number };

/** The parts of a response that are compared with the expected one. */
export type ExpectedResponse = {
  readonly status?: number;
  /** Whether it has the request's `x-request-id`. */
  readonly hasRequestId?: boolean;
  readonly data?: unknown;
  /** From `extensions` of the first error; undefined without errors. */
  readonly code?: string;
  readonly reason?: string;
};

/** A client of Keytrail. */
export type Client = ReturnType<typeof createClient>;

/** Three times Keytrail's default deadline. */
const TIMEOUT_MS = 30_000;

/** Creates a client with keep-alive and unlimited connections. It connects at the first request. */
export function createClient(address: string) {
  const url = new URL(address);
  const pool = new Pool(url.origin, { headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS });
  /** Resolves once the response has begun. */
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
    send,
    /** Rejects if there is no JSON response within 30 s, or if the signal is aborted. */
    post: async (request: GraphQLRequest, signal?: AbortSignal): Promise<GraphQLResponse> => {
      const { statusCode: status, headers, body } = await send(request, signal);
      const text = await body.text();
      if (!text.startsWith('{')) throw new Error(`Status ${status} without JSON.`);
      const { data, errors } = JSON.parse(text);
      const { code, reason, retryAfterSeconds } = errors?.[0]?.extensions ?? {};
      const hasRequestId = headers['x-request-id'] === request.id;
      return { status, hasRequestId, data, code, reason, retryAfterSeconds };
    },
    [Symbol.asyncDispose]: () => pool.destroy(),
  };
}

/** Compares every value of a response. The default is status 200 with the request's id, without data or an error. */
export function isExpected(response: GraphQLResponse, expected: ExpectedResponse): boolean {
  const { retryAfterSeconds, ...compared } = response;
  const none = { data: undefined, code: undefined, reason: undefined };
  return isDeepStrictEqual(compared, { status: 200, hasRequestId: true, ...none, ...expected });
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
