import { GatewayError } from '../../errors.ts';

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
 * Parses JSON (RFC 8259). Integers beyond 2^53 and numbers beyond the range of a double become strings of their digits.
 * @param levels how deeply arrays and objects may be nested.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE if it is not JSON, or nested deeper.
 */
export function parseJson(text: string, levels = MAX_DEPTH): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // V8's message quotes the text, so it is dropped.
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'NOT_JSON' });
  }
  // Only a text with such a number is parsed again with a reviver, which is several times slower.
  return losesDigits(value, levels) ? JSON.parse(text, keepDigits) : value;
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

/** A reviver for JSON.parse. */
export function keepDigits(
  _key: string,
  value: unknown,
  context?: { readonly source?: string },
): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? '';
  return /^-?\d+$/.test(source) || !Number.isFinite(value) ? source : value;
}
