import type { IncomingMessage, ServerResponse } from 'node:http';
import { GatewayError } from '../errors.ts';

/** A host and perhaps a port (RFC 9110, section 7.2). */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d*)?$/i;

/**
 * What is wrong with a request before anything makes a URL or a token of it, which fails or guesses; undefined when
 * nothing is. Node itself has refused what is not HTTP.
 */
export function validateRequest({
  url = '',
  httpVersion,
  headers: { host = 'localhost' },
  rawHeaders,
}: IncomingMessage): GatewayError | undefined {
  const hosts = count(rawHeaders, 'host');
  const isMissing = hosts === 0 && httpVersion === '1.1';
  const isTarget = url.startsWith('/') && URL.canParse(`http://${host}${url}`);
  if (isMissing || hosts > 1 || !HOST.test(host) || !(isTarget || URL.canParse(`http://${host}`))) {
    return new GatewayError('BAD_REQUEST', { message: 'The Host header is not a host.' });
  }
  if (!isTarget) {
    return new GatewayError('BAD_REQUEST', { message: 'The request target is not a path.' });
  }
  if (count(rawHeaders, 'authorization') > 1) {
    return new GatewayError('BAD_REQUEST', {
      message: 'There is more than one Authorization header.',
    });
  }
  return undefined;
}

/** How often a header came; `headers` has only the first of some. */
function count(rawHeaders: readonly string[], name: string): number {
  let times = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const given = rawHeaders[index];
    if (given?.length === name.length && given.toLowerCase() === name) times += 1;
  }
  return times;
}

/** Who asks. */
export type ClientRequest = {
  readonly headers: { get(name: string): string | null };
  /** Aborted when he leaves. */
  readonly signal: AbortSignal;
  /** The other end of his socket; undefined when there is none. */
  readonly peer: string | undefined;
};

/** Who asks by a request to Node's own server. */
export function toClientRequest(
  { headers, socket }: IncomingMessage,
  response: Pick<ServerResponse, 'on' | 'destroyed' | 'writableFinished'>,
): ClientRequest {
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
