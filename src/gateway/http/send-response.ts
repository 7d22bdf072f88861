import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Caller } from '../../util/fair-share.ts';
import { type BodyLimits, MAX_INCOMPLETE_REQUESTS } from './request-body.ts';

/** Headers of every response. No cache may store it (it may contain tokens), no browser may guess its content type. */
export const RESPONSE_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

/** Limits of {@link createSender}. */
export type SendLimits = {
  /** Bytes of all responses that wait for their clients to read them. */
  readonly maxUnreadBytes: number;
  /** How long a client may read nothing of its response; milliseconds. @default 30_000 */
  readonly writeTimeoutMs?: number | undefined;
  /** Monotonic time in milliseconds. */
  readonly clock: () => number;
};

/** A response, and whose it is. */
export type Recipient = {
  readonly response: ServerResponse;
  readonly caller: Caller;
};

/** The status and the headers of a response. */
export type ResponseHead = { readonly status: number; readonly headers: OutgoingHttpHeaders };

/** Sends a whole response, of a large one its parts. Does nothing if the client has disconnected. */
export type Send = (
  recipient: Recipient,
  head: ResponseHead,
  body: string | readonly Buffer[],
  encoding?: 'latin1' | 'utf8',
) => void;

/** Sends the chunks of a body as they come, until its end or until the client disconnects. */
export type SendStream = (
  recipient: Recipient,
  head: ResponseHead,
  body: ReadableStream<Uint8Array>,
) => Promise<void>;

/** Larger bodies are written in pieces of this size, which show whether the client reads. */
const PIECE_BYTES = 2 ** 16;

/** A client that has read nothing for this time, in milliseconds, is disconnected before others. */
const STALLED_MS = 5000;

/** The kernel takes up to 6 MB in much less time, in milliseconds. What is taken later was read by the client. */
const KERNEL_MS = 2000;

/**
 * Creates a sender. A response is complete for the gateway once it is written, but stays in memory until its client has
 * read it. A client that reads nothing for `writeTimeoutMs` is disconnected. Above `maxUnreadBytes`, the sender
 * disconnects clients: those first that have read nothing for 5 s, then those of a caller with more than half of the bytes,
 * then those that may have read nothing yet, then those that read slowly. Of each kind, it is one of the caller with the
 * largest responses together.
 */
export function createSender({ maxUnreadBytes, writeTimeoutMs = 30_000, clock }: SendLimits): {
  readonly send: Send;
  readonly sendStream: SendStream;
} {
  const unread = createUnread(maxUnreadBytes, clock);
  const hold = (recipient: Recipient, bytes: number) => {
    // Node restarts this timer whenever the kernel takes a part of the response.
    recipient.response.setTimeout(writeTimeoutMs);
    unread.set(recipient, bytes);
  };
  const watch = (response: ServerResponse) => {
    response.once('timeout', () => response.destroy());
    response.once('close', () => unread.remove(response));
  };
  const end = (recipient: Recipient) => {
    const { response } = recipient;
    if (response.writableLength === 0) return; // the kernel has taken it, as nearly always
    // Stops the timer with the response, before Node gives the socket to the next one that was pipelined.
    response.prependOnceListener('finish', () => response.setTimeout(0));
    hold(recipient, response.writableLength);
  };
  /** Resolves once what was written is sent, or the client has disconnected. */
  const untilSent = async (recipient: Recipient, bytes: number) => {
    const { response } = recipient;
    hold(recipient, bytes);
    await new Promise<void>((resolve) => {
      const resume = () => {
        response.off('drain', resume).off('close', resume);
        resolve();
      };
      response.on('drain', resume).on('close', resume);
    });
    response.setTimeout(0);
  };
  const sendPieces = async (recipient: Recipient, parts: readonly Buffer[]) => {
    const { response } = recipient;
    let left = parts.reduce((sum, part) => sum + part.length, 0);
    for (const part of parts) {
      for (let at = 0; at < part.length && !response.destroyed; at += PIECE_BYTES) {
        const piece = part.subarray(at, at + PIECE_BYTES);
        if (piece.length === left) {
          response.end(piece);
          return end(recipient);
        }
        if (!response.write(piece)) await untilSent(recipient, left);
        left -= piece.length;
      }
    }
  };
  return {
    send: (recipient, head, body, encoding = 'utf8') => {
      const { response } = recipient;
      if (response.destroyed) return;
      if (typeof body !== 'string' || body.length > PIECE_BYTES) {
        watch(response.writeHead(head.status, head.headers));
        void sendPieces(recipient, typeof body === 'string' ? [Buffer.from(body, encoding)] : body);
        return;
      }
      response.writeHead(head.status, head.headers).end(body, encoding);
      if (response.writableLength === 0) return;
      watch(response);
      end(recipient);
    },
    sendStream: async (recipient, head, body) => {
      const { response } = recipient;
      const reader = body.getReader();
      const cancel = () => reader.cancel().catch(() => {}); // ends `read`
      if (response.destroyed) return void cancel();
      response.once('close', cancel);
      watch(response.writeHead(head.status, head.headers));
      for (;;) {
        const { done, value } = await reader.read();
        if (done || response.destroyed) break;
        if (response.write(value)) continue;
        await untilSent(recipient, response.writableLength);
        unread.remove(response);
      }
      response.end();
      end(recipient);
    },
  };
}

/** A response that its client has not read. */
type Unread = {
  readonly caller: Caller;
  /** What is left to read. */
  readonly bytes: number;
  /** What was left to read at first. */
  readonly size: number;
  readonly begunAt: number;
  /** When its client, or the kernel for it, last took a part of it; milliseconds. */
  readonly readAt: number;
};

/** Counts the bytes that wait for clients, and disconnects clients if they are more than `maxBytes`. */
function createUnread(maxBytes: number, clock: () => number) {
  const waiting = new Map<ServerResponse, Unread>(); // those first that were read long ago
  let total = 0;
  const remove = (response: ServerResponse) => {
    total -= waiting.get(response)?.bytes ?? 0;
    waiting.delete(response);
  };
  const findVictim = (): ServerResponse | undefined => {
    const now = clock();
    const sums = new Map<Caller, number>();
    for (const { caller, size } of waiting.values())
      sums.set(caller, (sums.get(caller) ?? 0) + size);
    const sumOf = ({ caller }: Unread) => sums.get(caller) ?? 0;
    const all = [...sums.values()].reduce((sum, own) => sum + own, 0);
    const rank = (entry: Unread) => {
      const { begunAt, readAt } = entry;
      if (now - readAt >= STALLED_MS) return 3;
      if (2 * sumOf(entry) > all) return 2;
      return Number(readAt - begunAt < KERNEL_MS);
    };
    const [victim] = [...waiting].toSorted(
      ([, a], [, b]) => rank(b) - rank(a) || sumOf(b) - sumOf(a),
    );
    return victim?.[0];
  };
  return {
    /** The client has `bytes` of its response left to read. Called again whenever it has read a part. */
    set: ({ response, caller }: Recipient, bytes: number) => {
      const now = clock();
      const { size = bytes, begunAt = now } = waiting.get(response) ?? {};
      remove(response);
      waiting.set(response, { caller, bytes, size, begunAt, readAt: now });
      total += bytes;
      while (total > maxBytes && waiting.size > 1) {
        const victim = findVictim();
        if (victim === undefined) return;
        remove(victim);
        victim.destroy();
      }
    },
    remove,
  };
}

/** Returns a signal that is aborted when the client disconnects. */
export function watchDisconnect(
  response: Pick<ServerResponse, 'on' | 'destroyed' | 'writableFinished'>,
): AbortSignal {
  const disconnect = new AbortController();
  if (response.destroyed) disconnect.abort();
  response.on('close', () => {
    if (!response.writableFinished) disconnect.abort();
  });
  return disconnect.signal;
}

/** Requests of one connection that may wait for earlier responses. With their heads and bodies they take up to 2.6 MB. */
const MAX_WAITING = 32;

/**
 * Creates a function that waits until the earlier responses on the connection are sent, for a request that was pipelined:
 * until then its response has no socket, and no limit on unread bytes would hold for it. Resolves to false if the request
 * must not be executed, because the client has disconnected. If too many requests wait, on a connection or in all, it
 * closes the connection: its client may retry those without a response (RFC 9112, section 9.3.2).
 */
export function createPipelining({ maxIncompleteRequests = MAX_INCOMPLETE_REQUESTS }: BodyLimits) {
  const waiting = new Map<Socket, number>();
  let total = 0;
  return async ({ socket }: IncomingMessage, response: ServerResponse): Promise<boolean> => {
    const count = waiting.get(socket) ?? 0;
    if (count >= MAX_WAITING || total >= maxIncompleteRequests) socket.destroy();
    if (socket.destroyed) return false; // Node still emits the requests that arrived in the same chunk
    waiting.set(socket, count + 1);
    total += 1;
    await new Promise<void>((resolve) => {
      response.once('socket', resolve); // Node emits it when it assigns the socket
      response.once('close', resolve);
    });
    total -= 1;
    const others = (waiting.get(socket) ?? 1) - 1;
    if (others > 0) waiting.set(socket, others);
    else waiting.delete(socket);
    return !response.destroyed && socket.writable; // not writable: the client has sent its FIN
  };
}

/** Whether an earlier response is unfinished. Over HTTP/2 a response always has a socket. */
export function isPipelined({ socket, writableEnded, destroyed }: ServerResponse): boolean {
  return socket === null && !writableEnded && !destroyed;
}
