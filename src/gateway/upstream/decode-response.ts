import { GatewayError, readRetryAfter } from '../../errors.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import type { HttpRequest, RawResponse } from './http-request.ts';
import { cutJson, parsePieces } from './json-pieces.ts';
import { decodeUtf8, parseJson } from './parse-json.ts';
import { type FailureStatus, toStatusError } from './status.ts';

/**
 * Which bodies an operation accepts. `json` requires JSON. `list` also accepts an empty body, which it reads as null.
 * `text` also accepts an empty body and plain text. `any` accepts everything; a body that is neither JSON nor plain text
 * is then `undefined`.
 */
export type BodyKind = 'json' | 'list' | 'text' | 'any';

/**
 * Decodes a 2xx response. The body decides how, as services often send a wrong content type. The content type
 * only decides whether invalid JSON is accepted as plain text.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE if the body is not acceptable.
 */
export function decodeResponse(response: RawResponse, kind: BodyKind): UpstreamResponse {
  const { status, headers, partialBody } = response;
  if (partialBody !== undefined)
    return { status, headers, body: partialBody.json, isPartial: true };
  return { status, headers, body: decodeBody(response, kind) };
}

/**
 * Decodes a large response as {@link decodeResponse} does, in steps between which other work of the event loop comes first.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE, or OUTCOME_UNKNOWN for a login or a deletion, reason TOO_LARGE, if it has too many
 * items or members.
 */
export async function decodeLargeResponse(
  response: RawResponse,
  kind: BodyKind,
): Promise<UpstreamResponse> {
  const { status, headers, body, partialBody } = response;
  if (partialBody === undefined) {
    const pieces = await cutJson(body);
    if (pieces === 'TOO_MANY')
      throw kind === 'list'
        ? new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'TOO_LARGE', message: TOO_MANY })
        : new GatewayError('OUTCOME_UNKNOWN', { reason: 'TOO_LARGE' });
    try {
      if (pieces !== null) return { status, headers, body: await parsePieces(pieces) };
    } catch {} // another charset, or an error that is reported below
  }
  return decodeResponse(response, kind);
}

function decodeBody({ body, headers }: RawResponse, kind: BodyKind): unknown {
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

const TOO_MANY =
  'The response of the service has more than a million items, or too many members of objects: request smaller pages with `parameters`, or let the service limit its pages.';

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
    retryAfterSeconds: status < 400 ? undefined : readRetryAfter(headers, now),
  });
}

/**
 * Decodes a response body: as UTF-8 if it is valid, since services declare wrong charsets, else by its byte order mark or the
 * declared charset. NUL and ESC are in no JSON, but in texts in UTF-16 and ISO-2022-JP.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE if it is in none of these.
 */
export function decodeText(body: Buffer, contentType: unknown): string {
  const declared = /;\s*charset\s*=\s*["']?([^\s"';]+)/i.exec(String(contentType))?.[1];
  const charset = UTF_16[body.toString('latin1', 0, 2)] ?? declared;
  if (charset === undefined || /^utf-?8$/i.test(charset)) return decodeUtf8(body);
  try {
    const text = decodeUtf8(body);
    if (!text.includes('\0') && !text.includes('\x1b')) return text;
  } catch {} // not UTF-8
  try {
    return new TextDecoder(charset, { fatal: true }).decode(body);
  } catch {
    return decodeUtf8(body); // an unknown charset, or a wrong one
  }
}

/** The encodings of byte order marks that are no UTF-8. */
const UTF_16: Readonly<Record<string, string>> = { '\xff\xfe': 'utf-16le', '\xfe\xff': 'utf-16be' };
