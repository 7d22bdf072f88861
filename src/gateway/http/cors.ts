import { RESPONSE_HEADERS } from './send-response.ts';

/** How long a browser may skip further preflights, in seconds. */
const MAX_AGE = '600';

/**
 * The CORS headers of every response, by the Origin of its request: null if it has none, undefined if it could not be read.
 * Then a single allowed origin is named: browsers show the response to no other page. Of several, it is not known which.
 * Credentials are never allowed.
 */
export function toCorsHeaders(
  allowed: readonly string[],
  origin: string | null | undefined,
): Readonly<Record<string, string>> {
  if (allowed.length === 0) return {};
  const named = origin === undefined && allowed.length === 1 ? allowed[0] : origin;
  return {
    vary: 'Origin',
    ...(named != null && allowed.includes(named) && { 'access-control-allow-origin': named }),
  };
}

/** Adds the headers of {@link toCorsHeaders} to a response. */
export function addCorsHeaders(
  allowed: readonly string[],
  response: Response,
  request: Pick<Headers, 'get'>,
): Response {
  const headers = toCorsHeaders(allowed, request.get('origin'));
  for (const [name, value] of Object.entries(headers)) response.headers.append(name, value); // a response may vary by other headers too
  return response;
}

/**
 * Responds to a CORS preflight, without the headers of {@link toCorsHeaders}; returns null if the request is none. A
 * preflight is never shed: without a 2xx response to it, the page sees neither a status nor an error.
 */
export function respondToPreflight(
  allowed: readonly string[],
  { method, headers }: { readonly method: string; readonly headers: Pick<Headers, 'get'> },
  createId: () => string,
): Response | null {
  if (allowed.length === 0 || method !== 'OPTIONS') return null;
  const origin = headers.get('origin');
  const requestedMethod = headers.get('access-control-request-method');
  if (!origin || !requestedMethod) return null;
  const requestedHeaders = headers.get('access-control-request-headers');
  const permission = {
    'access-control-allow-methods': requestedMethod,
    ...(requestedHeaders && { 'access-control-allow-headers': requestedHeaders }),
    'access-control-max-age': MAX_AGE,
  };
  return new Response(null, {
    status: 204,
    headers: {
      ...RESPONSE_HEADERS,
      'x-request-id': createId(),
      vary: 'Access-Control-Request-Headers',
      ...(allowed.includes(origin) && permission),
    },
  });
}
