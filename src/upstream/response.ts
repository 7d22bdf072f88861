import { type ErrorCode, GatewayError } from '../errors.ts';
import type { RawResponse } from './http-request.ts';
import { parseJson } from './parse-json.ts';
import type { UpstreamResponse } from './types.ts';

/** What an operation can make of a body: `json` must be there, `any` may be missing or a plain text. */
export type BodyKind = 'json' | 'any';

/**
 * Decodes a 2xx answer. The body decides what it is, not its content type, which services often get wrong.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE when it cannot be read.
 */
export function readResponse(response: RawResponse, kind: BodyKind): UpstreamResponse {
  const { status, headers, body, excerpt } = response;
  if (excerpt !== undefined) return { status, headers, body: excerpt.body, isPartial: true };
  const text = decode(body);
  if (kind === 'json') return { status, headers, body: parseJson(text) };
  if (text.trim() === '') return { status, headers, body: undefined };
  const isText = !/^\s*[<{["]/.test(text) && !/json/i.test(String(headers['content-type']));
  return { status, headers, body: parsePlain(text, isText) };
}

/** Says what a status outside 2xx means. Only the status counts, never the body. */
export function toGatewayError(
  { status, headers }: RawResponse,
  {
    isRead,
    hasToken,
    now,
  }: { readonly isRead: boolean; readonly hasToken: boolean; readonly now: () => number },
): GatewayError {
  if (status < 400)
    return new GatewayError('UPSTREAM_BAD_RESPONSE', {
      upstreamStatus: status,
      reason: 'REDIRECT',
    });
  const code = CODES[status] ?? 'UPSTREAM_ERROR';
  return new GatewayError(code, {
    ...(code === 'UNAUTHENTICATED' && !hasToken && { message: WRONG_CREDENTIAL }),
    upstreamStatus: status,
    retryable: code === 'RATE_LIMITED' || (isRead && PASSING.has(status)),
    retryAfterSeconds: readRetryAfter(headers['retry-after'], now),
  });
}

const WRONG_CREDENTIAL =
  'The service did not accept the credential: the first login of a client takes its secret, every later one the latest refresh token.';

const CODES: Readonly<Record<number, ErrorCode>> = {
  400: 'BAD_USER_INPUT',
  401: 'UNAUTHENTICATED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  409: 'CONFLICT',
  410: 'NOT_FOUND',
  422: 'BAD_USER_INPUT',
  429: 'RATE_LIMITED',
  504: 'UPSTREAM_TIMEOUT',
};

/** Statuses that say "later": 408, 425, 502, 503, 504 (RFC 9110, section 15; RFC 8470). */
const PASSING: ReadonlySet<number> = new Set([408, 425, 502, 503, 504]);

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** @throws GatewayError UPSTREAM_BAD_RESPONSE when it is no UTF-8. */
export function decode(body: Buffer): string {
  try {
    return UTF_8.decode(body);
  } catch {
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'NOT_JSON' });
  }
}

/** A text that is no JSON may stand for itself only where it does not look like markup or JSON cut short. */
function parsePlain(text: string, isText: boolean): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    if (isText) return text;
    throw error;
  }
}

/** Retry-After, given in seconds or as a date, in whole seconds (RFC 9110, section 10.2.3); anything else says nothing. */
export function readRetryAfter(
  header: string | string[] | undefined,
  now: () => number,
): number | undefined {
  const text = String(header);
  const isDate = text.endsWith('GMT');
  if (!isDate && !/^\d+$/.test(text)) return undefined;
  const seconds = isDate ? Math.ceil((Date.parse(text) - now()) / 1000) : Number(text);
  return seconds < 2 ** 31 ? Math.max(0, seconds) : undefined; // NaN is not less
}
