import type { IncomingMessage } from 'node:http';
import { GatewayError } from './errors.ts';

/** A host and perhaps a port (RFC 9110, section 7.2). */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d*)?$/i;

/**
 * What is wrong with a request before anything makes a URL or a token of it, which fails or guesses; undefined when
 * nothing is. Node itself has refused what is not HTTP.
 */
export function refuseRequest({
  url = '',
  httpVersion,
  headersDistinct,
}: IncomingMessage): GatewayError | undefined {
  const hosts = headersDistinct['host'] ?? [];
  const [host = 'localhost'] = hosts;
  const isMissing = hosts.length === 0 && httpVersion === '1.1';
  if (isMissing || hosts.length > 1 || !HOST.test(host) || !URL.canParse(`http://${host}`)) {
    return new GatewayError('BAD_REQUEST', { message: 'The Host header is not a host.' });
  }
  if (!url.startsWith('/') || !URL.canParse(`http://${host}${url}`)) {
    return new GatewayError('BAD_REQUEST', { message: 'The request target is not a path.' });
  }
  if ((headersDistinct['authorization']?.length ?? 0) > 1) {
    return new GatewayError('BAD_REQUEST', {
      message: 'There is more than one Authorization header.',
    });
  }
  return undefined;
}
