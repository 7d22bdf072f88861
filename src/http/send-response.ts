import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { identifyCaller } from './fair-share.ts';

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
 * read it. A client that reads nothing for `writeTimeoutMs` is disconnected. Above `maxUnreadBytes`, of the caller that
 * holds most bytes the response that has waited longest is: a caller cannot push out those of others.
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

/** What waits for one caller. */
type Unread = { bytes: number; readonly responses: Map<ServerResponse, number> };

/** Counts the bytes that wait for clients, by caller. */
function createUnread() {
  const callers = new Map<string | null, Unread>();
  const owners = new Map<ServerResponse, string | null>();
  let total = 0;
  const remove = (response: ServerResponse) => {
    const caller = owners.get(response) ?? null;
    const unread = callers.get(caller);
    const bytes = unread?.responses.get(response);
    if (unread === undefined || bytes === undefined) return;
    total -= bytes;
    unread.bytes -= bytes;
    owners.delete(response);
    unread.responses.delete(response);
    if (unread.responses.size === 0) callers.delete(caller);
  };
  return {
    bytes: () => total,
    count: () => owners.size,
    add: (response: ServerResponse) => {
      remove(response);
      const { headers, socket } = response.req;
      const caller = identifyCaller(headers.authorization, () => socket.remoteAddress);
      const unread = callers.get(caller) ?? { bytes: 0, responses: new Map() };
      callers.set(caller, unread);
      owners.set(response, caller);
      const bytes = response.writableLength;
      unread.responses.set(response, bytes);
      unread.bytes += bytes;
      total += bytes;
    },
    remove,
    /** Of the caller that holds most bytes. */
    removeOldest: (): ServerResponse | undefined => {
      let most: Unread | undefined;
      for (const unread of callers.values())
        if (most === undefined || unread.bytes > most.bytes) most = unread;
      const [oldest] = most?.responses.keys() ?? [];
      if (oldest !== undefined) remove(oldest);
      return oldest;
    },
  };
}
