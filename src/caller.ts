import type { IncomingMessage, ServerResponse } from 'node:http';

/** Who asks. */
export type Caller = {
  readonly headers: { get(name: string): string | null };
  /** Aborted when he leaves. */
  readonly signal: AbortSignal;
  /** The other end of his socket; undefined when there is none. */
  readonly peer: string | undefined;
};

/** Who asks by a request to Node's own server. */
export function callerOf(
  { headers, socket }: IncomingMessage,
  response: Pick<ServerResponse, 'on' | 'destroyed' | 'writableFinished'>,
): Caller {
  const leaving = new AbortController();
  if (response.destroyed) leaving.abort(); // he asked, and left at once
  response.on('close', () => {
    if (!response.writableFinished) leaving.abort();
  });
  return {
    headers: {
      get: (name) => {
        const value = headers[name];
        return typeof value === 'object' ? value.join(', ') : (value ?? null);
      },
    },
    signal: leaving.signal,
    peer: socket.remoteAddress,
  };
}
