import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type BodyLimits, MAX_INCOMPLETE_REQUESTS } from './request-body.ts';

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
