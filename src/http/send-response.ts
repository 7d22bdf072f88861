import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Caller, identifyCaller } from '../util/fair-share.ts';
import { type BodyLimits, MAX_INCOMPLETE_REQUESTS } from './request-body.ts';

/** Headers of every response. No cache may store it (it may contain tokens), no browser may guess its content type. */
export const RESPONSE_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

/** Limits of {@link createSender}. */
export type SendLimits = {
  /** Bytes of all responses that wait for their clients to read them. @default 2 ** 28 */
  readonly maxUnreadBytes?: number;
  /** How long a client may read nothing of its response; milliseconds. @default 30_000 */
  readonly writeTimeoutMs?: number;
};

/** Sends a whole response. Does nothing if the client has disconnected. */
export type Send = (
  response: ServerResponse,
  head: { readonly status: number; readonly headers: OutgoingHttpHeaders },
  body: string | Buffer,
  encoding?: 'latin1' | 'utf8',
) => void;

/** Sends the chunks of a body as they come, until its end or until the client disconnects. */
export type SendStream = (
  response: ServerResponse,
  head: { readonly status: number; readonly headers: OutgoingHttpHeaders },
  body: ReadableStream<Uint8Array>,
) => Promise<void>;

/**
 * Creates a sender. A response is complete for the gateway once it is written, but stays in memory until its client has
 * read it. A client that reads nothing for `writeTimeoutMs` is disconnected. Above `maxUnreadBytes`, the sender
 * disconnects the longest-waiting response of the caller that holds the most bytes: no caller pushes out others.
 */
export function createSender({ maxUnreadBytes = 2 ** 28, writeTimeoutMs = 30_000 }: SendLimits): {
  readonly send: Send;
  readonly sendStream: SendStream;
} {
  const unread = createUnread();
  const hold = (response: ServerResponse) => {
    if (response.writableLength === 0) return; // the kernel has taken it, as nearly always
    unread.add(response);
    // Node restarts this timer whenever the kernel takes a part of the response.
    response.setTimeout(writeTimeoutMs);
    while (unread.bytes() > maxUnreadBytes && unread.count() > 1) unread.removeOldest()?.destroy();
  };
  return {
    send: (response, { status, headers }, body, encoding = 'utf8') => {
      if (response.destroyed) return;
      response.writeHead(status, headers).end(body, encoding);
      if (response.writableLength === 0) return;
      response.once('timeout', () => response.destroy());
      response.once('close', () => unread.remove(response));
      stopTimer(response);
      hold(response);
    },
    sendStream: async (response, { status, headers }, body) => {
      const reader = body.getReader();
      const cancel = () => reader.cancel().catch(() => {}); // ends `read`
      if (response.destroyed) return void cancel();
      let resume = () => {};
      response.on('drain', () => resume());
      response.once('timeout', () => response.destroy());
      response.on('close', () => {
        unread.remove(response);
        cancel();
        resume();
      });
      response.writeHead(status, headers);
      for (;;) {
        const { done, value } = await reader.read();
        if (done || response.destroyed) break;
        if (response.write(value)) continue;
        hold(response);
        await new Promise<void>((resolve) => {
          resume = resolve;
        });
        unread.remove(response);
        response.setTimeout(0);
      }
      response.end();
      stopTimer(response);
      hold(response);
    },
  };
}

/** Stops the timer with the response, before Node gives the socket to the next one that was pipelined. */
function stopTimer(response: ServerResponse): void {
  response.prependOnceListener('finish', () => response.setTimeout(0));
}

/** Counts the bytes that wait for clients, by caller. */
function createUnread() {
  const waiting = new Map<
    ServerResponse,
    { readonly caller: Caller | null; readonly bytes: number }
  >(); // oldest first
  let total = 0;
  const remove = (response: ServerResponse) => {
    total -= waiting.get(response)?.bytes ?? 0;
    waiting.delete(response);
  };
  return {
    bytes: () => total,
    count: () => waiting.size,
    add: (response: ServerResponse) => {
      remove(response);
      const { headers, socket } = response.req;
      const caller = identifyCaller(headers.authorization, () => socket.remoteAddress);
      const bytes = response.writableLength;
      waiting.set(response, { caller, bytes });
      total += bytes;
    },
    remove,
    /** Of the caller that holds most bytes. */
    removeOldest: (): ServerResponse | undefined => {
      const sums = new Map<Caller | null, number>();
      for (const { caller, bytes } of waiting.values())
        sums.set(caller, (sums.get(caller) ?? 0) + bytes);
      const most = Math.max(...sums.values());
      for (const [response, { caller }] of waiting) {
        if (sums.get(caller) !== most) continue;
        remove(response);
        return response;
      }
      return undefined;
    },
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
