import type { Dispatcher } from 'undici';
import errors from 'undici/lib/core/errors.js';
import { type ErrorCode, type FailureReason, GatewayError } from '../../errors.ts';
import type { Caller } from '../../util/fair-share.ts';
import type { MemoryAccount } from '../../util/memory-budget.ts';
import { VERSION } from '../../util/version.ts';
import type { FairDispatcher } from './fair-dispatcher.ts';
import { createBodyScanner, type PartialBody, type PrefixRequest } from './partial-json.ts';
import type { EncodedPath } from './path.ts';
import { createResponseBody, type ResponseBody } from './response-body.ts';
import type { Attempt } from './types.ts';

/**
 * What several requests may read together. Each adds its `content-length`, or what arrives. The first response may
 * exceed it.
 */
export type ByteBudget = {
  bytesRead: number;
  hasResponse: boolean;
  readonly maxBytes: number;
  /** Whether the wait for a connection or for memory does not count for the deadline, up to a minute. */
  readonly isPatient: boolean;
  /** Holds their bodies. */
  readonly memory: Pick<MemoryAccount, 'take' | 'giveBack'>;
};

/** One request to the service. */
export type HttpRequest = {
  readonly method: Attempt['method'];
  readonly path: EncodedPath;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Whose request it is: connections are shared between callers. */
  readonly caller: Caller;
  /** Whether it is a login, for which connections are kept free. */
  readonly isLogin: boolean;
  /** The largest response body that is accepted, in bytes. */
  readonly maxBytes: number;
  /** What all requests of one group may read. */
  readonly budget: ByteBudget;
  /** The sufficient part of a large response; the whole body if omitted. */
  readonly prefix?: PrefixRequest | undefined;
};

/** How one attempt of a request is sent. */
export type SendOptions = {
  /** Trace headers, added to those of the request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Cancels a read when the client disconnects; undefined for any other request. */
  readonly signal: AbortSignal | undefined;
  /** Deadline of the whole exchange in milliseconds, including the wait for a connection. */
  readonly timeoutMs: number;
  /** Monotonic time in milliseconds. */
  readonly clock: () => number;
  /** Called when a connection is available: false if the request must no longer be sent. */
  readonly maySend: () => boolean;
};

/** The undecoded response. `body` is empty if the status is not 2xx or there is a `partialBody`. */
export type RawResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
  readonly partialBody?: PartialBody;
};

/** Larger bodies are parsed one per iteration of the event loop: 1 MB takes about 10 ms. */
export const LARGE_BYTES = 2 ** 20;

/**
 * Why there is no response. Not sent: `proxy`, if a proxy refused to forward the request, and `circuit-open`, if the circuit
 * breaker opened while the request waited for a connection. `overloaded`: too many requests waited, or this one waited for a
 * connection or for memory for most of its time.
 */
export type NoResponseReason =
  | 'connection'
  | 'proxy'
  | 'deadline'
  | 'client-disconnected'
  | 'circuit-open'
  | 'overloaded';

/** The service did not respond. `isSent` decides whether the request is safe to retry. */
export class NoResponseError extends GatewayError {
  readonly reason: NoResponseReason;
  /** Whether the service may have received the request. */
  readonly isSent: boolean;

  constructor(
    reason: NoResponseReason,
    { isSent, isRead }: Readonly<Record<'isSent' | 'isRead', boolean>>,
    cause?: string,
  ) {
    const { [reason]: code = 'UPSTREAM_UNAVAILABLE' } = CODES;
    const isUnknown = isSent && !isRead;
    const message = isSent && reason === 'overloaded' ? WAITED_TOO_LONG : NOT_SENT[reason];
    super(isUnknown ? 'OUTCOME_UNKNOWN' : code, { cause, ...(!isUnknown && { message }) });
    this.reason = reason;
    this.isSent = isSent;
  }
}

const CODES: Partial<Record<NoResponseReason, ErrorCode>> = {
  deadline: 'UPSTREAM_TIMEOUT',
  overloaded: 'OVERLOADED',
};

const NOT_SENT: Partial<Record<NoResponseReason, string>> = {
  overloaded:
    'Too many calls to the service are in progress: this one was not sent. Try again shortly.',
  proxy:
    'The proxy did not connect to the service, so nothing was sent: check HTTPS_PROXY, HTTP_PROXY and NO_PROXY, and that the proxy permits this service.',
};

const WAITED_TOO_LONG =
  'Too many calls or large responses are in progress: this read waited too long for its turn, or made room for another caller. Try again shortly.';

/**
 * Has a content coding of IANA's registry, or another known one. Services also send what is none, such as `utf-8` or
 * `none`: their bodies are not encoded.
 */
const CODING =
  /(?:^|,)\s*(?:aes128gcm|br|brotli|(?:x-)?(?:bzip2?|compress|deflate|gzip|lzma|xz)|dc[bz]|exi|lz4|pack200-gzip|sdch|snappy|zstd)\s*(?:$|[,;])/i;

const HEADERS_TOO_LARGE =
  'The headers of the response are larger than Node accepts: let the service send fewer, or raise the limit with NODE_OPTIONS=--max-http-header-size=65536.';

/** How much of an unused body is downloaded to keep its connection open: a new connection costs several times as much. */
const MAX_DISCARDED_BYTES = 131_072;

/** The longest time of a patient request: some may wait for one another. */
const MAX_PATIENCE_MS = 60_000;

const NO_BODY = { body: Buffer.alloc(0) };

const HEADERS = {
  accept: 'application/json',
  'accept-encoding': 'identity',
  'user-agent': `keytrail/${VERSION}`, // unless that of the client is forwarded; firewalls reject requests without one
};

function exhausted(): GatewayError {
  return new GatewayError('OPERATION_TOO_COMPLEX', {
    message:
      'The operation reads more of the service than one request may: split it into several requests.',
  });
}

/** Aborts a response whose rest is not needed. Shared, because capturing a stack trace costs more than parsing a page. */
const REST_NOT_NEEDED = new Error('the rest of the response is not needed');

/**
 * Sends one request and reads its response, or the requested prefix of it. Uses undici's dispatcher instead of `fetch`,
 * because only its handler learns when a request is assigned to a connection: until then it is safe to retry.
 * @throws NoResponseError UPSTREAM_TIMEOUT, UPSTREAM_UNAVAILABLE, OVERLOADED or OUTCOME_UNKNOWN.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE, or OUTCOME_UNKNOWN for a login or a deletion, if the response is malformed,
 * truncated, too large or compressed; OPERATION_TOO_COMPLEX if the budget is exhausted.
 */
export function sendRequest(
  dispatcher: FairDispatcher,
  request: HttpRequest,
  { timeoutMs, clock, maySend, signal, headers: traceHeaders }: SendOptions,
): Promise<RawResponse> {
  const { method, path, maxBytes, budget, prefix } = request;
  const headers = { ...HEADERS, ...request.headers, ...traceHeaders };
  return new Promise((resolve, reject) => {
    const isRead = method === 'GET';
    let size = 0;
    let body: ResponseBody | undefined;
    let isSent = false;
    let isSettled = false;
    let response: Omit<RawResponse, 'body'> | undefined;
    let contentLength = Number.NaN;
    let isComplete = false; // the requested prefix
    let isExempt = false; // from the budget
    let isReserved = false; // the length of the body, in the budget
    let discarded = 0;
    let controller: Dispatcher.DispatchController | undefined;
    let leaveQueue: (() => void) | undefined;
    const begunAt = clock();
    let isQueued = true;
    let waitedMs = 0; // for a connection and for memory
    let extendedByMs = 0; // what of it has extended the deadline
    const memory: typeof budget.memory = {
      giveBack: budget.memory.giveBack,
      take: (bytes, onTaken) => {
        const since = clock();
        return budget.memory.take(bytes, () => {
          waitedMs += clock() - since;
          onTaken();
        });
      },
    };

    const settle = (conclude: () => void) => {
      isSettled = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', disconnect);
      leaveQueue?.();
      body?.cancel();
      conclude();
    };
    const fail = (error: Error) => {
      if (isSettled) return;
      settle(() => reject(error)); // no effect after a failure status or a partial body, which have already resolved
      if (controller !== undefined) abort(controller, error);
    };
    const failWithoutResponse = (reason: NoResponseReason, cause?: string) =>
      fail(new NoResponseError(reason, { isSent, isRead }, cause));
    // A login or a deletion whose response cannot be read may have been carried out.
    const refuse = (reason: FailureReason, message?: string) =>
      fail(
        isRead
          ? new GatewayError('UPSTREAM_BAD_RESPONSE', { reason, message })
          : new GatewayError('OUTCOME_UNKNOWN', { reason }),
      );
    const disconnect = () => failWithoutResponse('client-disconnected');

    const isWaiting = () => isQueued || body?.isWaiting();
    const expire = () => {
      if (isSettled) return;
      const isExtended = isWaiting() || waitedMs > extendedByMs;
      if (budget.isPatient && isExtended && clock() - begunAt < MAX_PATIENCE_MS) {
        extendedByMs = waitedMs;
        timer.refresh();
      }
      // Overloaded if it waited for the gateway for most of its time, and not for the service.
      else failWithoutResponse(isWaiting() || 2 * waitedMs > timeoutMs ? 'overloaded' : 'deadline');
    };
    // The event loop may have been blocked until now: what has arrived is read first.
    const timer = setTimeout(() => setImmediate(expire), timeoutMs);
    if (signal?.aborted) return disconnect();
    signal?.addEventListener('abort', disconnect);

    leaveQueue = dispatcher.dispatch(
      { method, path, headers, body: request.body ?? null },
      {
        onConnection() {
          isQueued = false;
          waitedMs = clock() - begunAt;
        },
        onOverload: () => failWithoutResponse('overloaded'),
        onRequestStart(started) {
          if (!isSettled && !maySend()) failWithoutResponse('circuit-open');
          // Failed while it waited for a connection: nothing is sent, and the next request gets the connection.
          if (isSettled) return started.abort(new Error('no longer wanted'));
          controller = started;
          isSent = true;
        },
        onResponseStart(_, status, responseHeaders) {
          if (isSettled || status < 200) return;
          response = { status, headers: responseHeaders };
          if (status >= 300) return resolve({ ...response, ...NO_BODY });
          const encoding = responseHeaders['content-encoding'];
          if (encoding && CODING.test(String(encoding))) return refuse('CONTENT_ENCODING');
          contentLength = Number(responseHeaders['content-length']);
          if (contentLength > maxBytes) return refuse('TOO_LARGE');
          isExempt = !budget.hasResponse;
          budget.hasResponse = true;
          isReserved = prefix === undefined && contentLength >= 0;
          if (isReserved) budget.bytesRead += contentLength;
          if (!isExempt && budget.bytesRead > budget.maxBytes) return fail(exhausted());
          const scan = prefix && createBodyScanner(prefix, contentLength);
          const expected = prefix === undefined ? contentLength : Number.NaN;
          body = createResponseBody(expected, memory, (bytes) => {
            let partialBody: PartialBody | undefined;
            try {
              partialBody = scan?.(bytes);
            } catch (error) {
              // Our bug. Undici would take what its handler throws for a failed connection.
              return fail(error as Error); // we throw nothing else
            }
            if (partialBody === undefined || response === undefined) return;
            isComplete = true;
            if (isExempt) budget.hasResponse = false; // all of it may be requested after its beginning
            signal?.removeEventListener('abort', disconnect); // the client has its response
            resolve({ ...response, ...NO_BODY, partialBody });
            if (contentLength - size > MAX_DISCARDED_BYTES) fail(REST_NOT_NEEDED);
          });
        },
        onResponseData(flow, chunk) {
          if (isSettled || response === undefined) return;
          if (body === undefined || isComplete) {
            discarded += chunk.length;
            if (discarded > MAX_DISCARDED_BYTES) fail(REST_NOT_NEEDED);
            return;
          }
          size += chunk.length;
          if (size > maxBytes) return refuse('TOO_LARGE');
          if (!isReserved) budget.bytesRead += chunk.length;
          if (!isExempt && budget.bytesRead > budget.maxBytes) return fail(exhausted());
          body.add(chunk, flow);
        },
        onResponseEnd() {
          const head = response;
          if (isSettled || head === undefined) return;
          const conclude = (bytes: Buffer) => settle(() => resolve({ ...head, body: bytes }));
          if (body === undefined) settle(() => {});
          else body.end(conclude);
        },
        onResponseError(_, error) {
          if (isSettled) return;
          const refusal = proxyRefusalOf(error);
          if (refusal !== undefined) {
            isSent = false;
            return failWithoutResponse('proxy', refusal);
          }
          // A length mismatch in the head means two lengths; later, a truncated body.
          const hasTwoLengths =
            response === undefined && error instanceof errors.ResponseContentLengthMismatchError;
          if (error instanceof errors.InvalidArgumentError)
            fail(error); // our bug
          else if (error instanceof errors.HeadersOverflowError)
            refuse('HEADERS_TOO_LARGE', HEADERS_TOO_LARGE);
          else if (error instanceof errors.HTTPParserError || hasTwoLengths) refuse('NOT_HTTP');
          else if (response !== undefined) refuse('TRUNCATED');
          else {
            if (isCertificateRejection(error)) isSent = false;
            failWithoutResponse('connection', codeOf(error));
          }
        },
      },
      request,
    );
  });
}

/** Undici creates an error for the socket too. Without a stack trace this saves 1/15 of the CPU of reading a page. */
function abort(controller: Dispatcher.DispatchController, error: Error): void {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    controller.abort(error);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * Whether the service rejected our client certificate. Under TLS 1.3 it may do so after the request was sent (RFC 8446,
 * section 6.2). It discards what it received, so the request is safe to retry. Node derives these codes from OpenSSL's
 * names of the alerts.
 */
function isCertificateRejection(error: Error): boolean {
  return /^ERR_SSL_.*_ALERT_(?:.*CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED)/.test(Object(error).code);
}

/**
 * Why a proxy did not forward a request, as a code; undefined for any other error. It opened no tunnel, or it requires
 * other credentials (407): the service received nothing. Undici has the proxy's status only in the message.
 */
export function proxyRefusalOf(error: Error): string | undefined {
  const status = /^Proxy .*\((\d{3})\)/.exec(error.message)?.[1];
  if (status !== undefined) return `PROXY_${status}`;
  const code = codeOf(error);
  return code?.startsWith('UND_ERR_PRX_') ? code : undefined;
}

/** Node's error code, such as ECONNREFUSED: unlike the message, it contains no host name. */
function codeOf(error: Error): string | undefined {
  const code = String(Object(error).code);
  return /^[A-Z\d_]+$/.test(code) ? code : undefined;
}
