import {
  type DeepPartial,
  type ExpiryFormat,
  fillGaps,
  type LoginContract,
} from '../mapping/contract.ts';
import { parentOf } from '../mapping/json-pointer.ts';
import { decodeJwtClaims, isExpiry } from '../mapping/login.ts';
import { detectFormat, parseTime } from '../mapping/time.ts';
import { isObject } from '../mapping/values.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { type FieldProfile, profileFields } from './profile-fields.ts';
import { LOGIN_NAMES, PLAIN_TOKEN, QUALIFIED_TOKEN, UNUSABLE_TOKEN } from './vocabulary.ts';

/** Completes the contract of the login: infers the entries that are not configured from the response. */
export function completeLogin(
  response: UpstreamResponse,
  configured?: DeepPartial<LoginContract>,
): LoginContract {
  return fillGaps<LoginContract>(configured, inferLogin(response));
}

/** Maximum number of keys in the path of a field: two wrappers and its own. */
const MAX_KEYS = 3;

/** Items of an array that are examined. Two tokens in it are ambiguous, if they differ. */
const MAX_ITEMS = 20;

/** Infers which field of a login response holds what. Entries without a match are null. */
export function inferLogin({ body }: UpstreamResponse): LoginContract {
  const fields = profileFields(isObject(body) ? [body] : [], { maxItems: MAX_ITEMS }).filter(
    (field) => countKeys(field) <= MAX_KEYS,
  );
  const texts = fields.filter(({ values: [value] }) => typeof value === 'string');
  const accessToken = findToken(texts, LOGIN_NAMES.accessToken);
  const expiries = fields.filter((field) => detectExpiryFormat(field) !== null);
  return {
    accessToken: accessToken?.pointer ?? null,
    refreshToken: findToken(texts, LOGIN_NAMES.refreshToken)?.pointer ?? null,
    tokenType: findBest(texts, LOGIN_NAMES.tokenType)?.pointer ?? null,
    expires: inferExpiry(expiries, accessToken),
  };
}

function countKeys({ path }: FieldProfile): number {
  return path.split('/').length;
}

/** Finds the field that matches the first possible pattern; among several, the least nested one. */
function findBest(
  fields: readonly FieldProfile[],
  patterns: readonly RegExp[],
): FieldProfile | undefined {
  return rankByPattern(fields, patterns)[0]?.field;
}

/**
 * The same for a token, of which a plain name is better than a qualified one: `accessToken` than `encryptedAccessToken`.
 * None if a field that fits equally well has another token: the wrong one would be a guess.
 */
function findToken(
  fields: readonly FieldProfile[],
  patterns: readonly RegExp[],
): FieldProfile | undefined {
  const usable = fields.filter(({ path }) => !UNUSABLE_TOKEN.test(path));
  const plain = usable.filter(({ path }) => !QUALIFIED_TOKEN.test(path));
  const ranked = rankByPattern(plain, patterns);
  const candidates = ranked.length > 0 ? ranked : rankByPattern(usable, patterns);
  const best = candidates.filter(({ rank }) => rank === candidates[0]?.rank);
  const plainest = best.filter(({ field }) => PLAIN_TOKEN.test(field.path));
  const [first, ...others] = plainest.length > 0 ? plainest : best;
  const isAmbiguous = others.some(({ field }) => field.values[0] !== first?.field.values[0]);
  return isAmbiguous ? undefined : first?.field;
}

/** The fields that match a pattern, best first. */
function rankByPattern(fields: readonly FieldProfile[], patterns: readonly RegExp[]) {
  return fields
    .map((field) => ({ field, rank: patterns.findIndex((pattern) => pattern.test(field.path)) }))
    .filter(({ rank }) => rank >= 0)
    .sort((a, b) => a.rank - b.rank || countKeys(a.field) - countKeys(b.field));
}

/** Infers the expiry of the access token: a field next to it, else the `exp` claim of a JWT, else a field elsewhere. */
function inferExpiry(
  candidates: readonly FieldProfile[],
  accessToken: FieldProfile | undefined,
): LoginContract['expires'] {
  const isOther = (name: string) => LOGIN_NAMES.otherExpiry.test(name);
  const parent = accessToken && parentOf(accessToken.pointer);
  const ownSiblings = candidates.filter(
    ({ pointer, path }) => parentOf(pointer) === parent && !isOther(lastKey(path)),
  );
  const sibling = findBest(ownSiblings, LOGIN_NAMES.expires);
  const isJwt = accessToken !== undefined && 'exp' in decodeJwtClaims(accessToken.values[0]);
  if (sibling === undefined && isJwt) return { at: accessToken.pointer, as: 'jwt' };
  const notOther = candidates.filter(({ path }) => !isOther(path));
  const expiry = sibling ?? findBest(notOther, LOGIN_NAMES.expires);
  const as = expiry === undefined ? null : detectExpiryFormat(expiry);
  return expiry === undefined || as === null ? null : { at: expiry.pointer, as };
}

function lastKey(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** About 30 years. A larger number is an instant, or means "never". */
const MAX_SECONDS = 1e9;

/** Without a unit, a larger number may be milliseconds: no access token expires in less than five minutes. */
const MAX_WITHOUT_UNIT = 300_000;

/** Detects the format of an expiry from its name and its magnitude. Null if neither is conclusive. */
function detectExpiryFormat({ path, values: [value] }: FieldProfile): ExpiryFormat | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null;
  const isLifetime = /\b(?:in|ttl|lifetime|lease duration|second|sec)\b/.test(lastKey(path));
  const instant = isLifetime ? null : detectFormat(value);
  if (instant !== null) return isExpiry(parseTime(value)) ? instant : null;
  if (!/^(?!0+$)\d+(?:\.\d+)?$/.test(String(value))) return null; // 0 means "never", or "expired"
  if (/\b(?:ms|m|milli|millis|millisecond)\b/.test(path))
    return Number(value) < 1000 * MAX_SECONDS ? 'milliseconds' : null;
  const isOtherUnit = /\b(?:min|minute|hour|day|at|on|date)\b/.test(path);
  const isTooLarge = Number(value) >= (isLifetime ? MAX_SECONDS : MAX_WITHOUT_UNIT);
  return isOtherUnit || isTooLarge ? null : 'seconds';
}
