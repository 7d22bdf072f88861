import { createParser } from 'eventsource-parser';
import { readRetryAfter } from '../errors.ts';
import { isUnauthenticated, OperationError, type ResultError } from './errors.ts';
import type { RequestOptions, Result } from './request.ts';
import { type Document, type FetchResponse, parseResult, send, statusOf } from './request.ts';

/** A payload of `auditEvents`. A document of your own selects at least `checkpoint`. */
export type Payload = {
  readonly checkpoint: string;
  readonly previous?: string | null;
};

type Subscribed<Data> = { auditEvents: Data | null };

/** A batch, with the errors of those of its fields that failed. */
export type Batch<Data> = Data & { readonly errors?: readonly ResultError[] };

/** The options of {@link Follow}. */
export type FollowOptions = {
  /** The checkpoint of an earlier batch. Default: now or, with `filter.since`, that instant. */
  readonly after?: string | null | undefined;
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each attempt to reconnect after an error. */
  readonly onRetry?: ((error: unknown, delayMs: number) => void) | undefined;
};

/**
 * Subscribes to new events. When the connection ends, it reconnects after 1 to 30 seconds with the last checkpoint, or
 * after the `retryAfterSeconds` of an error, or the `Retry-After` of a response with a failure status: at most after an hour.
 * So it does if a proxy responds with 408, 425, 429 or a 5xx. When the token is rejected, it logs in. A batch that does not
 * follow the last one is dropped: it reconnects, and gets the events again. It ends by `break`, by the signal, or with an
 * error.
 * @throws OperationError if it is not retryable, an Error for a redirect, and what `token` of the session throws.
 */
export type Follow = ReturnType<typeof createFollow>;

type Wait = <Value>(promise: Promise<Value>, ms?: number) => Promise<Value>;

/** The clock, the timer and the randomness of a session. Default: those of the platform. */
export type Timers = {
  readonly now?: () => number;
  readonly random?: () => number;
  readonly setTimeout?: (run: () => void, ms: number) => ReturnType<typeof setTimeout>;
};

type Dependencies = Pick<RequestOptions, 'url' | 'fetch'> & {
  /** Returns another token than the rejected one. */
  readonly token: (rejected?: string) => Promise<string>;
  readonly timers?: Timers | undefined;
};

/** A connection without a ping for this time is lost, in milliseconds. The gateway sends one every 12 seconds. */
const SILENCE_MS = 30_000;

/** The delay before reconnecting is random, between these; in milliseconds. The upper one doubles up to 30 seconds. */
const MIN_DELAY_MS = 1000;
const MAX_DELAY_MS = 30_000;

/** A longer `retryAfterSeconds` or `Retry-After` counts as this. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** The characters of an event that is not complete. The gateway's own limit is half of it. */
const MAX_EVENT_LENGTH = 2 ** 26;

const EVENT_STREAM = 'text/event-stream';

/** Creates the function that follows the trail. */
export function createFollow({ token, url, fetch, timers = {} }: Dependencies) {
  const { now = Date.now, random = Math.random, setTimeout = globalThis.setTimeout } = timers;
  return async function* follow<Data extends Payload, Variables>(
    document: Document<Subscribed<Data>, Variables>,
    variables: Omit<Variables, 'after'>,
    { after = null, signal = new AbortController().signal, onRetry }: FollowOptions = {},
  ): AsyncIterableIterator<Batch<Data>> {
    const wait = createWait(signal, setTimeout);
    let checkpoint = after;
    let attempts = 0;
    let rejected: string | undefined;
    while (!signal.aborted) {
      const connection = new AbortController();
      const init = { accept: EVENT_STREAM, signal: AbortSignal.any([signal, connection.signal]) };
      let used: string | undefined;
      let healthyAt = Infinity;
      let failure: unknown;
      let retryAfter: number | undefined;
      try {
        used = await wait(token(rejected));
        healthyAt = now() + MAX_DELAY_MS; // without a batch: the trail may be quiet
        const next = { ...variables, after: checkpoint };
        const responding = send(document, next, { url, fetch, token: used }, init);
        const response = await receive(responding, wait);
        const { status, headers } = response;
        const [after, date] = [headers?.get('retry-after'), headers?.get('date')];
        if (status >= 400) retryAfter = readRetryAfter({ 'retry-after': after, date }, now);
        for await (const result of readResults<Subscribed<Data>>(response, wait)) {
          const batch = toBatch(result, checkpoint);
          checkpoint = batch.checkpoint;
          healthyAt = -Infinity;
          yield batch;
        }
      } catch (error) {
        failure = error;
      } finally {
        connection.abort();
      }
      if (signal.aborted) return;
      if (now() > healthyAt) {
        attempts = 0;
        rejected = undefined;
      }
      if (used !== undefined && rejected === undefined && isUnauthenticated(failure)) {
        rejected = used;
        continue;
      }
      if (failure !== undefined && !isRetryable(failure)) throw failure;
      attempts += 1;
      const delayMs = toDelay(failure, retryAfter, attempts, random());
      onRetry?.(failure, delayMs);
      await wait(new Promise(() => {}), delayMs).catch(() => {});
    }
  };
}

/** Waits for what comes from the gateway. */
const receive = <Value>(promise: Promise<Value>, wait: Wait) =>
  wait(promise.catch(throwUnreachable));

/** Reads a response, and returns the results in it. */
async function* readResults<Data>(
  response: FetchResponse,
  wait: Wait,
): AsyncGenerator<Result<Data>, undefined> {
  const { headers, body } = response;
  if (!body || !isEventStream(headers?.get('content-type'))) {
    yield parseResult(await receive(response.text(), wait), response);
    return;
  }
  const results: Result<Data>[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => {
      if (event === 'next') results.push(parseResult(data, response));
    },
    maxBufferSize: MAX_EVENT_LENGTH,
    onError: ({ type }) => {
      if (type !== 'max-buffer-size-exceeded') return; // other fields are ignored
      const message = `An event is longer than ${MAX_EVENT_LENGTH} characters.`;
      throw new OperationError({ message, extensions: { retryable: true } });
    },
  });
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await receive(reader.read(), wait);
    if (done) return;
    parser.feed(decoder.decode(value, { stream: true }));
    yield* results.splice(0);
  }
}

/** Media types have no case (RFC 9110, section 8.3.1). */
function isEventStream(contentType: string | null | undefined): boolean {
  return contentType?.split(';')[0]?.trim().toLowerCase() === EVENT_STREAM;
}

function toBatch<Data extends Payload>(
  { data, errors }: Result<Subscribed<Data>>,
  checkpoint: string | null,
): Batch<Data> {
  const batch = data?.auditEvents;
  if (!batch) throw new OperationError(errors?.[0] ?? { message: 'The payload has no data.' });
  const { previous = checkpoint } = batch; // not every document selects it
  if (checkpoint === null || previous === checkpoint)
    return { ...batch, ...(errors && { errors }) };
  const message = 'A payload was lost on the way.';
  throw new OperationError({ message, extensions: { retryable: true } });
}

function isRetryable(error: unknown): boolean {
  if (error instanceof OperationError) return error.isRetryable;
  const status = statusOf(error) ?? 0; // of a proxy
  return RETRIED.has(status) || status >= 500;
}

/** 408 Request Timeout, 425 Too Early (RFC 8470) and 429 Too Many Requests. */
const RETRIED: ReadonlySet<number> = new Set([408, 425, 429]);

function toDelay(
  error: unknown,
  retryAfter: number | undefined,
  attempts: number,
  random: number,
): number {
  const { retryAfterSeconds } = error instanceof OperationError ? error.extensions : {};
  const maxMs = Math.min(MIN_DELAY_MS * 2 ** attempts, MAX_DELAY_MS);
  const delayMs = MIN_DELAY_MS + random * (maxMs - MIN_DELAY_MS);
  // A router or proxy may have put anything there.
  const asked = typeof retryAfterSeconds === 'number' ? retryAfterSeconds : (retryAfter ?? 0);
  const askedMs = 1000 * asked;
  return Math.max(Math.min(askedMs, MAX_RETRY_AFTER_MS), delayMs);
}

function throwUnreachable(cause: unknown): never {
  if (statusOf(cause) !== undefined) throw cause; // a redirect
  const message = 'The gateway could not be reached.';
  throw new OperationError({ message, extensions: { retryable: true } }, { cause });
}

/** Returns a function that waits for a promise. It throws after a time, or when the signal is aborted. */
function createWait(signal: AbortSignal, setTimeout: Required<Timers>['setTimeout']): Wait {
  return async (promise, ms = SILENCE_MS) => {
    let stop = () => {};
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    }).then(() => throwUnreachable(new Error(`Nothing was received for ${ms / 1000} seconds.`)));
    const timer = setTimeout(stop, Math.min(ms, 2 ** 31 - 1)); // a longer one ends at once
    signal.addEventListener('abort', stop);
    if (signal.aborted) stop();
    try {
      return await Promise.race([promise, stopped]);
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
    }
  };
}
