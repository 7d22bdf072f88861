import { createParser } from 'eventsource-parser';
import { toUnreachable } from './log-in.ts';
import { OperationError } from './operation-error.ts';
import {
  DEFAULT_URL,
  type Document,
  type Fetch,
  parseResult,
  type Result,
  type ResultError,
  toInit,
} from './request.ts';
import type { Timers } from './timers.ts';

/** A payload of `auditEvents`. A document of your own selects at least `checkpoint`. */
export type Payload = {
  readonly checkpoint: string;
  readonly previous?: string | null;
};

/** The options of {@link Follow}. */
export type FollowOptions = {
  /** The checkpoint of an earlier batch. Default: now or, with `filter.since`, that instant. */
  readonly after?: string | null | undefined;
  /** Ends the iteration, without an error. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each attempt to reconnect after an error. */
  readonly onRetry?: ((error: unknown, delayMs: number) => void) | undefined;
};

/** A batch, with the errors of those of its fields that failed. */
export type Batch<Data> = Data & { readonly errors?: readonly ResultError[] };

/**
 * Subscribes to new events. When the connection ends, it reconnects after 1 to 30 seconds with the last checkpoint, or
 * after the `retryAfterSeconds` of an error. When the token is rejected, it logs in. A batch that does not follow the last
 * one is dropped: it reconnects, and gets the events again. It ends by `break`, by the signal, or with an error.
 * @throws OperationError if it is not retryable, and what `token` of the session throws.
 */
export type Follow = <Data extends Payload, Variables>(
  document: Document<{ auditEvents: Data | null }, Variables>,
  variables: Omit<Variables, 'after'>,
  options?: FollowOptions,
) => AsyncIterableIterator<Batch<Data>>;

/** What a stream needs. */
export type FollowDependencies = {
  readonly url?: string | undefined;
  readonly fetch?: Fetch | undefined;
  /** Returns another token than the rejected one, or the same if there is no other. */
  readonly token: (rejected?: string) => Promise<string>;
  readonly timers: Timers;
};

/** A connection without a ping for this time is lost, in milliseconds. The gateway sends one every 12 seconds. */
const SILENCE_MS = 30_000;

/** The delay before reconnecting is random, between these; in milliseconds. The upper one doubles up to 30 seconds. */
const MIN_DELAY_MS = 1000;
const MAX_DELAY_MS = 30_000;

/** Creates the function that follows the trail. */
export function createFollow(dependencies: FollowDependencies): Follow {
  return (document, variables, options = {}) => {
    const end = new AbortController();
    const batches = generate(dependencies, document, variables, options, end);
    return {
      [Symbol.asyncIterator]() {
        return this;
      },
      next: () => batches.next(),
      return: () => {
        end.abort(); // the generator's own `return` waits for the next batch
        return batches.return(undefined);
      },
    };
  };
}

async function* generate<Data extends Payload, Variables>(
  { token, timers, ...target }: FollowDependencies,
  document: Document<{ auditEvents: Data | null }, Variables>,
  variables: Omit<Variables, 'after'>,
  { after, signal, onRetry }: FollowOptions,
  end: AbortController,
): AsyncGenerator<Batch<Data>, undefined> {
  const stop = () => end.abort();
  signal?.addEventListener('abort', stop);
  if (signal?.aborted) stop();
  const ended = new Promise<undefined>((resolve) => {
    end.signal.addEventListener('abort', () => resolve(undefined));
  });
  let checkpoint = after ?? null;
  let attempts = 0;
  let rejected: string | undefined;
  let failure: unknown;
  try {
    while (!end.signal.aborted) {
      let used: string | undefined;
      let pings = 0;
      try {
        used = await Promise.race([token(rejected), ended]);
        if (used === undefined) return;
        if (used === rejected) throw failure;
        failure = undefined;
        const init = toInit(
          document,
          { ...variables, after: checkpoint },
          { token: used, accept: EVENT_STREAM },
        );
        for await (const item of subscribe<Subscribed<Data>>(init, target, end.signal, timers)) {
          const batch = item === PING ? undefined : toBatch(item, checkpoint);
          if (item === PING) pings += 1;
          if (batch !== undefined || pings > 1) {
            // the first ping comes before the service was called
            attempts = 0;
            rejected = undefined;
          }
          if (batch === undefined) continue;
          checkpoint = batch.checkpoint;
          yield batch;
        }
      } catch (error) {
        failure = error;
      }
      if (end.signal.aborted) return;
      if (used !== undefined && rejected === undefined && isUnauthenticated(failure)) {
        rejected = used;
        continue;
      }
      if (failure !== undefined && !isRetryable(failure)) throw failure;
      attempts += 1;
      const delayMs = toDelay(failure, attempts, timers.random());
      onRetry?.(failure, delayMs);
      await timers.wait(delayMs, end.signal);
    }
  } finally {
    stop();
    signal?.removeEventListener('abort', stop);
  }
}

type Subscribed<Data> = { auditEvents: Data | null };

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

const isUnauthenticated = (error: unknown) =>
  error instanceof OperationError && error.extensions.code === 'UNAUTHENTICATED';

function isRetryable(error: unknown): boolean {
  if (error instanceof OperationError) return error.isRetryable;
  const { status } = Object(Object(error).cause); // of a proxy
  return status === 429 || status >= 500;
}

function toDelay(error: unknown, attempts: number, random: number): number {
  const seconds = error instanceof OperationError ? error.extensions.retryAfterSeconds : undefined;
  const maxMs = Math.min(MIN_DELAY_MS * 2 ** attempts, MAX_DELAY_MS);
  return Math.max(1000 * (seconds ?? 0), MIN_DELAY_MS + random * (maxMs - MIN_DELAY_MS));
}

const EVENT_STREAM = 'text/event-stream';

const PING = Symbol('ping');

/** Sends a subscription, and returns its results and pings. Closes the connection when it is returned. */
async function* subscribe<Data>(
  init: ReturnType<typeof toInit>,
  { url = DEFAULT_URL, fetch = globalThis.fetch }: Pick<FollowDependencies, 'url' | 'fetch'>,
  signal: AbortSignal,
  { wait }: Timers,
): AsyncGenerator<Result<Data> | typeof PING, undefined> {
  const connection = new AbortController();
  const close = () => connection.abort();
  signal.addEventListener('abort', close);
  try {
    const response = await receive(fetch(url, { ...init, signal: connection.signal }), wait);
    const { status, headers, body } = response;
    if (!body || !headers?.get('content-type')?.startsWith(EVENT_STREAM)) {
      yield parseResult(await receive(response.text(), wait), status);
      return;
    }
    const items: (Result<Data> | typeof PING)[] = [];
    const parser = createParser({
      onEvent: ({ event, data }) => {
        if (event === 'next') items.push(parseResult(data, status));
      },
      onComment: () => items.push(PING),
    });
    const reader = body.getReader();
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await receive(reader.read(), wait);
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* items.splice(0);
    }
  } finally {
    signal.removeEventListener('abort', close);
    close();
  }
}

/** Waits for what a connection receives. */
async function receive<Value>(promise: Promise<Value>, wait: Timers['wait']): Promise<Value> {
  const timer = new AbortController();
  const silence = wait(SILENCE_MS, timer.signal).then(() => {
    throw new Error(`Nothing was received for ${SILENCE_MS / 1000} seconds.`);
  });
  try {
    return await Promise.race([promise, silence]);
  } catch (error) {
    throw toUnreachable(error);
  } finally {
    timer.abort();
  }
}
