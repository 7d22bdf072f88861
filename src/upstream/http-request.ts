import type { Dispatcher } from 'undici';
import { type FailureReason, GatewayError } from '../errors.ts';
import type { Path } from './path.ts';
import { codeOf, isMisuse, isRefusal, isUnreadable } from './undici-error.ts';

/** One request to the service. */
export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: Path;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Begins to look at the body of a 2xx that announces so many bytes. */
  readonly look?: ((announced: number) => Look | undefined) | undefined;
};

/** Looks at the pieces of a body, of so many bytes together, whenever one more has come; gives what is enough once it is there. */
export type Look = (pieces: readonly Buffer[], size: number) => Excerpt | undefined;

/** What is enough of a body, decoded. */
export type Excerpt = { readonly body: unknown };

/** What a request is sent over. */
export type HttpTransport = {
  readonly dispatcher: Dispatcher;
  /** The largest body taken, in bytes. */
  readonly maxBytes: number;
};

/** One try of a request. */
export type AttemptOptions = {
  /** By which the service knows it; they are sent beside those of the request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Ends it when the caller leaves; only a read is given one. */
  readonly signal: AbortSignal | undefined;
  /** From this try to the last byte of the answer, waiting for a connection included; milliseconds. */
  readonly timeoutMs: number;
  /** Asked when the request is about to go onto a connection. */
  readonly maySend: () => boolean;
};

/** The service's answer as it came. `body` is empty unless the status is 2xx, and when an excerpt of it is enough. */
export type RawResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  readonly excerpt?: Excerpt;
};

/** What took the answer away: its connection, its deadline, that nobody wants it any more, or that it must not be sent. */
export type NoResponseReason = 'connection' | 'deadline' | 'caller' | 'breaker';

/** No answer came. Whether the request may be sent again depends on how it was lost. */
export class NoResponseError extends GatewayError {
  readonly why: NoResponseReason;
  /** Whether the request went onto a connection that was let in; if not, the service cannot have seen it. */
  readonly isSent: boolean;

  constructor(
    loss: NoResponseReason,
    { isSent, isRead }: Readonly<Record<'isSent' | 'isRead', boolean>>,
    cause?: string,
  ) {
    const code = loss === 'deadline' ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_UNAVAILABLE';
    super(isSent && !isRead ? 'OUTCOME_UNKNOWN' : code, { retryable: isRead, cause });
    this.why = loss;
    this.isSent = isSent;
  }
}

/** How much of a body nobody will read is taken to keep its connection: a new one costs several times as much. */
const DRAINED_BYTES = 131_072;

const NOTHING = Buffer.alloc(0);

const HEADERS = { accept: 'application/json', 'accept-encoding': 'identity' };

/** Ends what nobody waits for any more; one for all, as a stack trace costs more than the records of a window. */
const ENOUGH = new Error('enough was read');

/**
 * Sends one request and takes its whole answer, or as much of it as is enough. It speaks to undici's dispatcher
 * directly, because only the handler is told when the request goes onto a connection: that decides whether it may have
 * been carried out.
 * @throws LostExchange when no answer came: UPSTREAM_TIMEOUT, UPSTREAM_UNAVAILABLE or OUTCOME_UNKNOWN.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE.
 */
export function sendRequest(
  { dispatcher, maxBytes }: HttpTransport,
  request: HttpRequest,
  { timeoutMs, maySend, signal, headers: own }: AttemptOptions,
): Promise<RawResponse> {
  const { method, path, body = null } = request;
  const headers = { ...HEADERS, ...request.headers, ...own };
  return new Promise((resolve, reject) => {
    const isRead = method === 'GET';
    const chunks: Buffer[] = [];
    let size = 0;
    let isSent = false;
    let isOver = false;
    let response: Omit<RawResponse, 'body'> | undefined;
    let look: Look | undefined;
    let announced = Number.NaN;
    let isEnough = false;
    let unread = 0;
    let controller: Dispatcher.DispatchController | undefined;

    const settle = (conclude: () => void) => {
      isOver = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', leave);
      conclude();
    };
    const fail = (error: Error) => {
      if (isOver) return;
      settle(() => reject(error)); // without effect where a failure status or an excerpt has already resolved
      if (controller !== undefined) abort(controller, error);
    };
    const lose = (loss: NoResponseReason, cause?: string) =>
      fail(new NoResponseError(loss, { isSent, isRead }, cause));
    const refuse = (reason: FailureReason) =>
      fail(new GatewayError('UPSTREAM_BAD_RESPONSE', { reason }));
    const leave = () => lose('caller');
    /** Undici takes what its handler throws for a failure of the connection, but this is our bug. */
    const orFail = <T>(work: () => T): T | undefined => {
      try {
        return work();
      } catch (error) {
        fail(error as Error); // our code throws nothing else
        return undefined;
      }
    };

    const timer = setTimeout(() => lose('deadline'), timeoutMs);
    if (signal?.aborted) return leave();
    signal?.addEventListener('abort', leave);

    dispatcher.dispatch(
      { method, path, headers, body },
      {
        onRequestStart(started) {
          if (!isOver && !maySend()) lose('breaker');
          // Given up while it waited for a connection: it must not be sent, and the connection goes to the next.
          if (isOver) return started.abort(new Error('given up'));
          controller = started;
          isSent = true;
        },
        onResponseStart(_, status, responseHeaders) {
          if (isOver || status < 200) return;
          response = { status, headers: responseHeaders };
          if (status >= 300) return resolve({ ...response, body: NOTHING });
          if (isEncoded(responseHeaders['content-encoding'])) return refuse('CONTENT_ENCODING');
          announced = Number(responseHeaders['content-length']);
          if (announced > maxBytes) return refuse('TOO_LARGE');
          // Of unknown length it may be too large, which is only known at its end.
          if (announced > 0) look = orFail(() => request.look?.(announced));
        },
        onResponseData(_, chunk) {
          if (isOver || response === undefined) return;
          if (response.status >= 300 || isEnough) {
            unread += chunk.length;
            if (unread > DRAINED_BYTES) fail(ENOUGH);
            return;
          }
          size += chunk.length;
          if (size > maxBytes) return refuse('TOO_LARGE');
          chunks.push(chunk);
          const excerpt = orFail(() => look?.(chunks, size));
          if (excerpt === undefined) return;
          isEnough = true;
          chunks.length = 0;
          signal?.removeEventListener('abort', leave); // who has his answer may leave
          resolve({ ...response, body: NOTHING, excerpt });
          if (announced - size > DRAINED_BYTES) fail(ENOUGH);
        },
        onResponseEnd() {
          const answer = response;
          if (isOver || answer === undefined) return;
          const [only = NOTHING] = chunks;
          const body = chunks.length > 1 ? Buffer.concat(chunks) : only;
          settle(() => resolve({ ...answer, body }));
        },
        onResponseError(_, error) {
          if (isOver) return;
          if (isMisuse(error))
            fail(error); // our bug, not the service's
          else if (isUnreadable(error, response === undefined)) refuse('NOT_HTTP');
          else if (response !== undefined) refuse('TRUNCATED');
          else {
            if (isRefusal(error)) isSent = false;
            lose('connection', codeOf(error));
          }
        },
      },
    );
  });
}

/** Undici makes an error for the socket as well, whose stack nobody reads; Node prints it, which takes a fifteenth of a window. */
function abort(controller: Dispatcher.DispatchController, error: Error): void {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    controller.abort(error);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function isEncoded(contentEncoding: string | string[] | undefined): boolean {
  return !/^\s*(?:identity\s*)?$/i.test(String(contentEncoding ?? ''));
}
