import { GatewayError } from '../errors.ts';

/** A body may be nested so many levels deep. */
export const MAX_DEPTH = 64;

/**
 * Parses JSON (RFC 8259). Integers beyond 2^53 and numbers beyond a double's range become strings of their digits.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE when it is no JSON, or nested deeper than 64.
 */
export function parseJson(text: string): unknown {
  const value = parse(text);
  // The reviver is several times slower, so only what has such a number is parsed again with it.
  return losesDigits(value, MAX_DEPTH) ? JSON.parse(text, keepDigits) : value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // V8's message quotes the text: nothing of it is kept.
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'NOT_JSON' });
  }
}

/** Whether a number of it may have lost digits. Throws when it is nested deeper than so many levels. */
function losesDigits(value: unknown, levels: number): boolean {
  if (typeof value === 'number') return Math.abs(value) > Number.MAX_SAFE_INTEGER;
  return typeof value === 'object' && value !== null && partsLoseDigits(value, levels);
}

function partsLoseDigits(parts: object, levels: number): boolean {
  if (levels === 0) throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'TOO_DEEP' });
  let isLost = false;
  if (Array.isArray(parts)) {
    for (const part of parts) isLost = losesDigits(part, levels - 1) || isLost;
    return isLost;
  }
  const members = parts as Readonly<Record<string, unknown>>; // an object has members
  // Without the list that Object.values makes it takes half of the time.
  for (const name in members) isLost = losesDigits(members[name], levels - 1) || isLost;
  return isLost;
}

function keepDigits(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  const source = context?.source ?? '';
  return /^-?\d+$/.test(source) || !Number.isFinite(value) ? source : value;
}
