import { OperationError } from '../client/errors.ts';
import { type Result, statusOf } from '../client/request.ts';
import { GatewayError, isPassing } from '../errors.ts';
import { escapeUnprintable } from '../util/escape-unprintable.ts';
import { describeFailure } from './describe-failure.ts';
import type { OpenSession } from './open-session.ts';
import type { RequestLog } from './request-log.ts';
import type { CommandRuntime } from './runtime.ts';

/** Waits of one command for the service. It makes one request at a time. */
export type ServiceWait = {
  /**
   * Repeats a request while a repetition may help, after a pause.
   * @param failureOf the failure to wait after; undefined if there is none. Default: what was thrown.
   * @throws what the request has thrown last.
   */
  repeat<Value>(
    request: () => Promise<Value>,
    failureOf?: (ended: Ended<Value>) => unknown,
  ): Promise<Value>;
  /** Waits after a failed read. False: a repetition does not help, there were enough, or the command was stopped. */
  after(failure: unknown): Promise<boolean>;
  /** A request has succeeded. */
  over(): void;
};

/** What became of a request. */
type Ended<Value> = { readonly value: Value } | { readonly error: unknown };

/** Causes of a failed connection that no repetition changes, such as a wrong name in a URL. Node's and OpenSSL's codes. */
const LASTING = /^ENOTFOUND$|^EPROTO$|SSL|CERT|SIGNED|ALTNAME|ISSUER|UNABLE_TO/;

/** A command that has no reader waiting for it ends after these; one that follows the trail goes on. */
const BOUNDED = {
  tries: 3,
  limited: 6, // within half a minute
  pauseMs: 120_000,
  totalMs: 600_000,
  grownMs: Number.POSITIVE_INFINITY,
};

/** The longest pause that a service can ask for is that of `session.follow`. */
const ENDLESS = {
  tries: Number.POSITIVE_INFINITY,
  limited: Number.POSITIVE_INFINITY,
  pauseMs: Number.POSITIVE_INFINITY,
  totalMs: Number.POSITIVE_INFINITY,
  grownMs: 30_000,
};
const MAX_ASKED_MS = 3_600_000;

/** The shortest pause: a service may ask for 0 seconds. A growing one is random, between half of it and all. */
const MIN_PAUSE_MS = 1000;

/** Between two lines about one wait. */
const SAY_AGAIN_MS = 60_000;

/**
 * Creates the waits of a command. Each is said on stderr: when it begins, once a minute, and when the command goes on. A
 * signal ends it at once.
 * @param follows whether the command goes on without an end.
 */
export function createServiceWait(
  { stderr, stopping, now, clock, random, pause, requests }: CommandRuntime,
  command: string,
  follows = false,
): ServiceWait {
  const limits = follows ? ENDLESS : BOUNDED;
  let failures = 0; // since the last success, as all of these
  let tries = 0;
  let waitedMs = 0;
  let saidAt: number | undefined;
  let isGivenUp = false;
  const say = (text: string) => {
    const start = stderr.isTTY ? '\r' : ''; // the number of events may stand there
    stderr.write(`${start}keytrail ${command}: ${escapeUnprintable(text)}\n`);
  };
  const over = () => {
    if (saidAt !== undefined) say('going on.');
    [failures, tries, waitedMs, saidAt, isGivenUp] = [0, 0, 0, undefined, false];
  };
  const toPause = (failure: Failure) => {
    const grownMs = Math.min(MIN_PAUSE_MS * 2 ** failures, limits.grownMs);
    if (failure.seconds === undefined) return { ms: grownMs * (1 - random() / 2), maxMs: grownMs };
    const askedMs = Math.max(MIN_PAUSE_MS, Math.min(1000 * failure.seconds, MAX_ASKED_MS));
    return { ms: askedMs, maxMs: 1000 * failure.seconds };
  };
  const after = async (error: unknown) => {
    if (stopping.aborted || isGivenUp) return false;
    const failure = assess(error, requests);
    if (failure === null) {
      over();
      return false;
    }
    const { ms, maxMs } = toPause(failure);
    failures += 1;
    if (failure.isTry && failure.seconds === undefined) tries += 1;
    const seconds = Math.ceil(ms / 1000);
    const until = new Date(now().getTime() + ms).toTimeString().slice(0, 8);
    const isLong = maxMs > limits.pauseMs || waitedMs + ms > limits.totalMs;
    isGivenUp =
      tries >= limits.tries ||
      (failure.seconds === undefined && failures >= limits.limited) ||
      isLong ||
      (failure.isLasting && !follows);
    if (isGivenUp) return false;
    if (saidAt === undefined || clock() - saidAt >= SAY_AGAIN_MS) {
      say(`${failure.reason}: waiting ${seconds} s, until ${until}.`);
      saidAt = clock();
    }
    waitedMs += ms;
    await pause(ms, stopping).catch(() => {});
    return !stopping.aborted;
  };
  return {
    after,
    over,
    repeat: async (request, failureOf = thrownBy) => {
      for (;;) {
        const ended = await request().then(
          (value) => ({ value }),
          (error: unknown) => ({ error }),
        );
        const failure = failureOf(ended);
        if (failure === undefined) over();
        else if (await after(failure)) continue;
        if ('error' in ended) throw ended.error;
        return ended.value;
      }
    },
  };
}

const thrownBy = (ended: Ended<unknown>) => ('error' in ended ? ended.error : undefined);

/** A failure after which a repetition may help. */
type Failure = {
  readonly reason: string;
  /** What it asks to wait. */
  readonly seconds: number | undefined;
  /** Whether the service has failed. Otherwise it may be asked as often as it likes. */
  readonly isTry: boolean;
  /** Whether no repetition helps unless something else changes, such as the network. */
  readonly isLasting: boolean;
};

/** Statuses of a proxy after which a request may be sent again: also 425 Too Early (RFC 8470). Those from 500 on are, too. */
const REPEATED: ReadonlySet<number> = new Set([408, 425, 429]);

/** Null if a repetition of a read does not help. */
function assess(error: unknown, requests: RequestLog): Failure | null {
  const { status, seconds, code } = detailsOf(error);
  const helps =
    error instanceof OperationError || error instanceof GatewayError
      ? isPassing({
          ...error.extensions,
          ...(error instanceof OperationError && { retryable: error.isRetryable }),
        })
      : REPEATED.has(status ?? 0) || isServerError(status) || isLost(error);
  if (!helps) return null;
  const isLimited = code === 'RATE_LIMITED' || code === 'OVERLOADED' || status === 429;
  const server = Object(error).extensions === undefined ? 'the server of --gateway' : 'the service';
  const [sentence = ''] = (describeFailure(error, requests)?.message ?? '').split(/\.(?: |$)/);
  const reason = status === undefined ? sentence : `${server} answered HTTP ${status}`;
  const cause = Object(Object(error).cause).code ?? requests.last().cause;
  const isLasting = status === undefined && LASTING.test(cause);
  return { reason, seconds, isTry: !isLimited, isLasting };
}

const isServerError = (status = 0) => status >= 500;

/** Whether an error is that of `fetch` without a response, or with a part of one. */
const isLost = (error: unknown) =>
  error instanceof TypeError && typeof Object(error.cause).code === 'string';

/** What an error says: that of an operation, or of a response that is not GraphQL. */
function detailsOf(error: unknown) {
  const { extensions = {}, cause } = Object(error);
  const { upstream, retryAfterSeconds = Object(cause).retryAfterSeconds, code } = extensions;
  const status: number | undefined = Object(upstream).status ?? statusOf(error);
  // A router or proxy may have put anything there.
  const seconds: number | undefined =
    retryAfterSeconds >= 0 ? Number(retryAfterSeconds) : undefined;
  return { status, seconds, code };
}

/** A session of a command that waits for the service. */
export type WaitingSession = OpenSession & { readonly wait: ServiceWait };

/** The failure of a query. */
export function failureOfQuery(ended: Ended<Result<unknown>>): unknown {
  if ('error' in ended) return ended.error;
  const [error] = ended.value.errors ?? [];
  return error && new OperationError(error);
}

/**
 * The failure of a mutation, if the service refused it with 429: then nothing was done. A 403, and a rate limit that only a
 * body reports, are not taken for that.
 */
export function refusalOfMutation(ended: Ended<Result<unknown>>): unknown {
  const failure = failureOfQuery(ended);
  const { status = 429, code = 'RATE_LIMITED' } = detailsOf(failure);
  const isKnown = failure instanceof OperationError || statusOf(failure) !== undefined;
  return isKnown && code === 'RATE_LIMITED' && status === 429 ? failure : undefined;
}
