import { setImmediate as nextIteration } from 'node:timers/promises';
import { GatewayError } from '../errors.ts';
import { lazy } from '../util/memoize.ts';
import { hasTooManyItems } from './count-items.ts';
import type { HttpRequest, RawResponse } from './http-request.ts';
import { type FailureStatus, toStatusError } from './status.ts';
import type { UpstreamResponse } from './types.ts';

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
export function decodeResponse(
  response: RawResponse,
  kind: BodyKind,
  readText = () => decodeText(response.body, response.headers['content-type']),
): UpstreamResponse {
  const { status, headers, partialBody } = response;
  if (partialBody !== undefined)
    return { status, headers, body: partialBody.json, isPartial: true };
  return { status, headers, body: decodeBody(response, kind, readText) };
}

/**
 * Decodes a large response as {@link decodeResponse} does, in steps between which other work of the event loop comes first.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE, reason TOO_LARGE, if a list has more than a million items.
 */
export async function decodeLargeResponse(
  response: RawResponse,
  kind: BodyKind,
): Promise<UpstreamResponse> {
  if (kind === 'list' && hasTooManyItems(response.body))
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'TOO_LARGE', message: TOO_MANY });
  await nextIteration();
  const readText = lazy(() => decodeText(response.body, response.headers['content-type']));
  try {
    readText();
  } catch {} // reported below, if the kind requires a text
  await nextIteration();
  return decodeResponse(response, kind, readText);
}

function decodeBody({ headers }: RawResponse, kind: BodyKind, readText: () => string): unknown {
  let text: string | undefined;
  try {
    text = readText();
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
  'The response of the service has more than a million items: request smaller pages with `parameters`, or let the service limit its pages.';

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

/** The deepest nesting of arrays and objects that is accepted. */
export const MAX_DEPTH = 64;

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Decodes a response body.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE if it is not UTF-8.
 */
export function decodeUtf8(body: Buffer): string {
  try {
    return UTF_8.decode(body);
  } catch {
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'NOT_JSON' });
  }
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

/**
 * Parses JSON (RFC 8259). Integers beyond 2^53 and numbers beyond the range of a double become strings of their digits.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE if it is not JSON, or nested deeper than 64 levels.
 */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // V8's message quotes the text, so it is dropped.
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'NOT_JSON' });
  }
  // Only a text with such a number is parsed again with a reviver, which is several times slower.
  return losesDigits(value, MAX_DEPTH) ? JSON.parse(text, keepDigits) : value;
}

/** Whether any number in a value may have lost digits. Throws if the value is nested deeper than `levels`. */
function losesDigits(value: unknown, levels: number): boolean {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'TOO_DEEP' });
  let isLost = false;
  if (Array.isArray(value)) {
    for (const item of value) isLost = losesDigits(item, levels - 1) || isLost;
    return isLost;
  }
  const members = value as Readonly<Record<string, unknown>>; // any other parsed object
  // Takes half of the time of a loop over Object.values, which creates an array.
  for (const name in members) isLost = losesDigits(members[name], levels - 1) || isLost;
  return isLost;
}

function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? '';
  return /^-?\d+$/.test(source) || !Number.isFinite(value) ? source : value;
}
