import { GatewayError } from '../../errors.ts';
import { createTickBarrier } from '../../util/event-loop.ts';
import { type Caller, createFairShare } from '../../util/fair-share.ts';
import type { NodeRequest } from './request-head.ts';

/** Limits of {@link createBodyReader}. */
export type BodyLimits = {
  /**
   * Requests that may wait for the rest of their bodies at the same time; as many may wait for earlier responses.
   * @default 4096
   */
  readonly maxIncompleteRequests?: number;
};

/** The bytes of a body. */
export type Body = Buffer<ArrayBuffer>;

/** A body, why the request must be rejected, or null if the client disconnected before it had sent the whole body. */
export type ReadBody = { readonly body: Body } | BodyRejection | null;

/** Why a request must be rejected, with the HTTP status. */
export type BodyRejection = {
  readonly error: GatewayError;
  readonly status: 400 | 413 | 500 | 503;
};

/** Default of {@link BodyLimits.maxIncompleteRequests}. */
export const MAX_INCOMPLETE_REQUESTS = 4096;

/** Largest body of a request, in bytes. */
export const MAX_BODY_BYTES = 65_536;

const TOO_LARGE: BodyRejection = {
  error: new GatewayError('BAD_REQUEST', {
    message: 'The body is larger than 64 KiB: send a smaller one.',
  }),
  status: 413,
};

/**
 * Creates a reader of request bodies, up to {@link MAX_BODY_BYTES}. A body is read before its request counts for
 * `maxInFlight`, so that slow clients do not block others. Requests that wait for a body have a limit of their own, which
 * callers share; a body that arrived together with its head never waits.
 */
export function createBodyReader({ maxIncompleteRequests = MAX_INCOMPLETE_REQUESTS }: BodyLimits) {
  const tickBarrier = createTickBarrier();
  const incomplete = createFairShare(maxIncompleteRequests);
  const read = async (chunks: AsyncIterable<Uint8Array>, caller: Caller): Promise<ReadBody> => {
    const share = incomplete.take(caller);
    if (share === null)
      return { error: new GatewayError('OVERLOADED', { retryAfterSeconds: 1 }), status: 503 };
    try {
      const parts: Uint8Array[] = [];
      let size = 0;
      for await (const chunk of chunks) {
        size += chunk.length;
        if (size > MAX_BODY_BYTES) return TOO_LARGE;
        parts.push(chunk);
      }
      return { body: Buffer.concat(parts) };
    } catch {
      return null;
    } finally {
      incomplete.release(share);
    }
  };
  return {
    /** Reads the body of a request of a Node server, or takes what a body parser has read. Its rest stays unread if it is too large. */
    ofNode: async (request: NodeRequest, caller: Caller): Promise<ReadBody> => {
      if (Number(request.headers['content-length']) > MAX_BODY_BYTES) return TOO_LARGE;
      if (request.readableDidRead) return fromParser(request.body);
      await tickBarrier();
      // Most bodies arrive together with their heads: `read` then saves the stream's events.
      if (request.complete && request.readableLength <= MAX_BODY_BYTES)
        return { body: request.read() ?? EMPTY };
      // Not destroyed after a part of it: the client still has to get its response.
      return read(request.iterator({ destroyOnReturn: false }), caller);
    },
    /**
     * Reads the body of a `Request`. Its rest stays unread if it is too large. It is not cancelled: `next dev` writes on to
     * a cancelled stream, which is an uncaught exception.
     */
    ofFetch: (body: ReadableStream<Uint8Array>, caller: Caller) =>
      read(body.values({ preventCancel: true }), caller),
  };
}

const EMPTY = Buffer.alloc(0);

const LOST: BodyRejection = {
  error: new GatewayError('INTERNAL_SERVER_ERROR', {
    message:
      'The program read the body before Keytrail: mount Keytrail before it, or set `request.body` to what was read.',
  }),
  status: 500,
};

const TOO_DEEP: BodyRejection = {
  error: new GatewayError('BAD_REQUEST', {
    message: 'The body is nested too deeply: send fewer levels.',
  }),
  status: 400,
};

const NOT_UTF_8: BodyRejection = {
  error: new GatewayError('BAD_REQUEST', {
    message:
      'The body contains U+FFFD, as invalid UTF-8 does once it is decoded: send valid UTF-8.',
  }),
  status: 400,
};

/** Converts what a body parser has read, such as that of Express or Fastify: bytes, a text, or the value of JSON. */
function fromParser(parsed: unknown): BodyRejection | { readonly body: Body } {
  if (parsed instanceof Uint8Array)
    return parsed.length > MAX_BODY_BYTES ? TOO_LARGE : { body: Buffer.from(parsed) };
  let text: string | undefined;
  try {
    text = typeof parsed === 'string' ? parsed : JSON.stringify(parsed ?? undefined);
  } catch {
    return TOO_DEEP; // it overflows the stack
  }
  if (text === undefined) return LOST;
  if (text.length > MAX_BODY_BYTES) return TOO_LARGE;
  // The parser may have replaced invalid bytes: a deletion would hit another key than the one that was meant.
  if (text.includes('\ufffd')) return NOT_UTF_8;
  const body = Buffer.from(text);
  return body.length > MAX_BODY_BYTES ? TOO_LARGE : { body };
}
