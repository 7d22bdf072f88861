import type { IncomingMessage, ServerResponse } from 'node:http';

/** What the context of an operation needs of its HTTP request. */
export type CallerRequest = {
  readonly headers: { get(name: string): string | null };
  /** Aborted when the client disconnects. */
  readonly signal: AbortSignal;
  /** Remote address of the socket; undefined if there is no socket. */
  readonly peer: string | undefined;
};

/** Adapts a request of a Node server. */
export function toCallerRequest(
  { headers, socket }: IncomingMessage,
  response: Pick<ServerResponse, 'on' | 'destroyed' | 'writableFinished'>,
): CallerRequest {
  const disconnect = new AbortController();
  if (response.destroyed) disconnect.abort();
  response.on('close', () => {
    if (!response.writableFinished) disconnect.abort();
  });
  return {
    headers: {
      get: (name) => {
        const value = headers[name];
        return typeof value === 'object' ? value.join(', ') : (value ?? null);
      },
    },
    signal: disconnect.signal,
    peer: socket.remoteAddress,
  };
}
