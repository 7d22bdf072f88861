import { GatewayError } from '../errors.ts';
import {
  type Endpoint,
  type NodeRequest,
  OTHER_ROUTE,
  type Routes,
  targetOf,
} from './endpoints.ts';

/** A host and an optional port (RFC 9110, section 7.2). */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d*)?$/i;

/**
 * Checks what Node's parser accepts but Yoga misreads or throws at: the Host header, the request target, and that there
 * is at most one Authorization header. Other spellings of a route are not found: Yoga would take `/./graphql` for
 * `/graphql`, of which nothing else in the gateway knows. Returns what is wrong, undefined if the request is valid.
 */
export function validateHttpHead(
  request: NodeRequest,
  { method, route }: Endpoint,
  { toEndpoint, notFound }: Pick<Routes, 'toEndpoint' | 'notFound'>,
): { readonly error: GatewayError; readonly status: 400 | 404 } | undefined {
  const message = describeInvalidHead(request);
  if (message !== undefined)
    return { error: new GatewayError('BAD_REQUEST', { message }), status: 400 };
  if (route !== OTHER_ROUTE) return undefined;
  const { pathname } = new URL(`http://localhost${targetOf(request)}`);
  if (toEndpoint(method, pathname).route === OTHER_ROUTE) return undefined;
  return { error: new GatewayError('BAD_REQUEST', { message: notFound }), status: 404 };
}

function describeInvalidHead(request: NodeRequest): string | undefined {
  const { httpVersion, headers, rawHeaders } = request;
  const url = targetOf(request);
  const { host = 'localhost' } = headers;
  const hosts = countHeader(rawHeaders, 'host');
  const isMissing = hosts === 0 && httpVersion === '1.1';
  const isTarget = url.startsWith('/') && URL.canParse(`http://${host}${url}`);
  if (isMissing || hosts > 1 || !HOST.test(host) || !(isTarget || URL.canParse(`http://${host}`))) {
    return 'Send exactly one Host header, with a host and an optional port.';
  }
  if (!isTarget) return 'The request target must be a path, such as /graphql.';
  return countHeader(rawHeaders, 'authorization') > 1
    ? 'Send only one Authorization header.'
    : undefined;
}

/** Node's `headers` merges or drops repeated headers, so this reads the raw list of names and values. */
function countHeader(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index];
    if (header?.length === name.length && header.toLowerCase() === name) count += 1;
  }
  return count;
}
