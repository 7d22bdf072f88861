import { GatewayError } from '../errors.ts';

const MAX_DEPTH = 64;

// Only a text with 16 digits in a row, or an exponent of three, can hold a number that a double would change;
// all others are spared the reviver, which is several times slower.
const MAY_LOSE_DIGITS = /\d{16}|\d[eE]\+?\d{3}/;

/**
 * Parses JSON (RFC 8259). Integers beyond 2^53 and numbers beyond a double's range become strings of their digits.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE when it is no JSON, or nested deeper than 64.
 */
export function parseJson(text: string): unknown {
  const value = parse(text);
  if (isDeeperThan(MAX_DEPTH, value)) {
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'TOO_DEEP' });
  }
  return value;
}

function parse(text: string): unknown {
  try {
    return MAY_LOSE_DIGITS.test(text) ? JSON.parse(text, keepDigits) : JSON.parse(text);
  } catch {
    // V8's message quotes the text, and a very deep one overflows the reviver's stack: nothing of either is kept.
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'NOT_JSON' });
  }
}

function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? '';
  return /^-?\d+$/.test(source) || !Number.isFinite(value) ? source : value;
}

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeperThan(levels - 1, item));
}
