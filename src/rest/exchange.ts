import { type Dispatcher, errors } from 'undici';
import { type FailureReason, GatewayError } from '../errors.ts';
import type { Path } from './path.ts';

/** One request to the service. */
export type ExchangeRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: Path;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Aborts the exchange when the caller leaves; only a read is given one. */
  readonly signal?: AbortSignal | undefined;
};

/** What bounds every exchange. */
export type ExchangeLimits = {
  /** From this try to the last byte of the answer, waiting for a connection included; milliseconds. */
  readonly timeoutMs: number;
  /** The largest body taken, in bytes. */
  readonly maxBytes: number;
  /** Asked when the request is about to go onto a connection. */
  readonly maySend: () => boolean;
};

/** The service's answer as it came. `body` is empty unless the status is 2xx. */
export type RawResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
};

/** What took the answer away: its connection, its deadline, that nobody wants it any more, or that it must not be sent. */
export type Loss = 'connection' | 'deadline' | 'caller' | 'breaker';

/** No answer came. Whether the request may be sent again depends on how it was lost. */
export class LostExchange extends GatewayError {
  readonly loss: Loss;
  /** Whether the request went onto a connection; if not, the service cannot have seen it. */
  readonly isSent: boolean;

  constructor(loss: Loss, { isSent, isRead }: Readonly<Record<'isSent' | 'isRead', boolean>>) {
    const code = loss === 'deadline' ? 'UPSTREAM_TIMEOUT' : 'UPSTREAM_UNAVAILABLE';
    super(isSent && !isRead ? 'OUTCOME_UNKNOWN' : code, { retryable: isRead });
    this.loss = loss;
    this.isSent = isSent;
  }
}

/** How much of a body nobody will read is taken to keep its connection. */
const DRAINED_BYTES = 65_536;

/**
 * Sends one request and takes its whole answer. It speaks to undici's dispatcher directly, because only the
 * handler is told when the request goes onto a connection: that decides whether it may have been carried out.
 * @throws LostExchange when no answer came: UPSTREAM_TIMEOUT, UPSTREAM_UNAVAILABLE or OUTCOME_UNKNOWN.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: ExchangeRequest,
  { timeoutMs, maxBytes, maySend }: ExchangeLimits,
): Promise<RawResponse> {
  const { method, path, headers, body = null, signal } = request;
  return new Promise((resolve, reject) => {
    const isRead = method === 'GET';
    const chunks: Buffer[] = [];
    let size = 0;
    let isSent = false;
    let isOver = false;
    let response: Omit<RawResponse, 'body'> | undefined;
    let controller: Dispatcher.DispatchController | undefined;

    const settle = (conclude: () => void) => {
      isOver = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', leave);
      conclude();
    };
    const fail = (error: Error) => {
      if (isOver) return;
      settle(() => reject(error)); // without effect where a failure status has already resolved
      controller?.abort(error);
    };
    const lose = (loss: Loss) => fail(new LostExchange(loss, { isSent, isRead }));
    const refuse = (reason: FailureReason) =>
      fail(new GatewayError('UPSTREAM_BAD_RESPONSE', { reason }));
    const leave = () => lose('caller');

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
          if (status >= 300) return resolve({ ...response, body: Buffer.alloc(0) });
          if (isEncoded(responseHeaders['content-encoding'])) return refuse('CONTENT_ENCODING');
          if (Number(responseHeaders['content-length']) > maxBytes) refuse('TOO_LARGE');
        },
        onResponseData(_, chunk) {
          if (isOver || response === undefined) return;
          size += chunk.length;
          if (response.status >= 300) {
            if (size > DRAINED_BYTES) refuse('TOO_LARGE');
          } else if (size > maxBytes) refuse('TOO_LARGE');
          else chunks.push(chunk);
        },
        onResponseEnd() {
          const answer = response;
          if (isOver || answer === undefined) return;
          settle(() => resolve({ ...answer, body: Buffer.concat(chunks) }));
        },
        onResponseError(_, error) {
          if (error instanceof errors.InvalidArgumentError)
            fail(error); // our bug, not the service's
          else if (isUnreadable(error)) refuse('NOT_HTTP');
          else if (response !== undefined) refuse('TRUNCATED');
          else lose('connection');
        },
      },
    );
  });
}

function isEncoded(contentEncoding: string | string[] | undefined): boolean {
  return (
    contentEncoding !== undefined && String(contentEncoding).trim().toLowerCase() !== 'identity'
  );
}

/** What came is not HTTP as we take it. */
function isUnreadable(error: Error): boolean {
  return error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError;
}
