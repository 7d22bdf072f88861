import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** Limits of {@link createSender}. */
export type SendLimits = {
  /** Bytes of all responses that wait for their clients to read them. */
  readonly maxUnreadBytes: number;
  /** How long a client may read nothing of its response; milliseconds. */
  readonly writeTimeoutMs: number;
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
 * read it. A client that reads nothing for `writeTimeoutMs` is disconnected, and above `maxUnreadBytes` those that have
 * waited longest.
 */
export function createSender({ maxUnreadBytes, writeTimeoutMs }: SendLimits): {
  readonly send: Send;
  readonly sendStream: SendStream;
} {
  const unread = new Map<ServerResponse, number>(); // bytes, longest waiting first
  let total = 0;
  const forget = (response: ServerResponse) => {
    total -= unread.get(response) ?? 0;
    unread.delete(response);
  };
  const hold = (response: ServerResponse) => {
    const waiting = response.writableLength;
    if (waiting === 0) return; // the kernel has taken it, as nearly always
    unread.set(response, waiting);
    total += waiting;
    // Node restarts this timer whenever the kernel takes a part of the response.
    response.setTimeout(writeTimeoutMs);
    for (const oldest of unread.keys()) {
      if (total <= maxUnreadBytes || oldest === response) break;
      forget(oldest);
      oldest.destroy();
    }
  };
  return {
    send: (response, { status, headers }, body, encoding = 'utf8') => {
      if (response.destroyed) return;
      response.writeHead(status, headers).end(body, encoding);
      if (response.writableLength === 0) return;
      response.once('timeout', () => response.destroy());
      response.once('close', () => forget(response));
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
        forget(response);
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
        forget(response);
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
