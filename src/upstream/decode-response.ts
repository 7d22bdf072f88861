import type { GatewayError } from '../errors.ts';
import type { HttpRequest, RawResponse } from './http-request.ts';
import { decodeText, parseJson } from './parse-json.ts';
import { type FailureStatus, toStatusError } from './status.ts';
import type { UpstreamResponse } from './types.ts';

/**
 * Which bodies an operation accepts. `json` requires JSON. `list` also accepts an empty body, which it reads as null.
 * `text` also accepts an empty body and plain text. `any` accepts everything; a body that is neither JSON nor plain text
 * is then `undefined`.
 */
export type BodyKind = 'json' | 'list' | 'text' | 'any';

/**
 * Decodes a 2xx response. The body decides how, as services often send a wrong content type. That only keeps
 * invalid JSON from being accepted as plain text, unless everything is accepted.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE if the body is not acceptable.
 */
export function decodeResponse(response: RawResponse, kind: BodyKind): UpstreamResponse {
  const { status, headers, partialBody } = response;
  if (partialBody !== undefined)
    return { status, headers, body: partialBody.json, isPartial: true };
  return { status, headers, body: decodeBody(response, kind) };
}

function decodeBody({ headers, body }: RawResponse, kind: BodyKind): unknown {
  let text: string | undefined;
  try {
    text = decodeText(body, headers['content-type']);
    if (kind !== 'json' && text.trim() === '') return kind === 'list' ? null : undefined;
    const json = parseJson(text);
    return kind === 'any' && typeof json === 'number' ? text : json; // a token may consist of digits
  } catch (error) {
    if (kind === 'json' || kind === 'list') throw error;
    // Plain text, unless it looks like markup or truncated JSON.
    const isText = text !== undefined && !/^\s*[<{["]/.test(text);
    if (isText && (kind === 'any' || !/json/i.test(String(headers['content-type'])))) return text;
    if (kind === 'any') return undefined;
    throw error;
  }
}

/** The error for a response with a failure status. Only the status and Retry-After count, never the body. */
export function toGatewayError(
  { status, headers }: RawResponse,
  failure: FailureStatus,
  request: Pick<HttpRequest, 'method' | 'headers'>,
  now: () => number,
): GatewayError {
  const operation = request.method === 'GET' ? 'read' : 'deletion';
  return toStatusError(failure, 'authorization' in request.headers ? operation : 'login', {
    upstreamStatus: status,
    retryAfterSeconds: status < 400 ? undefined : readRetryAfter(headers['retry-after'], now),
  });
}

/** Retry-After in whole seconds, from seconds or a date (RFC 9110, section 10.2.3); undefined for any other value. */
export function readRetryAfter(
  header: string | string[] | undefined,
  now: () => number,
): number | undefined {
  const text = String(header);
  const isDate = text.endsWith('GMT');
  if (!isDate && !/^\d+$/.test(text)) return undefined;
  const seconds = isDate ? Math.ceil((Date.parse(text) - now()) / 1000) : Number(text);
  return seconds < 2 ** 31 ? Math.max(0, seconds) : undefined; // false for NaN, an invalid date
}
