import type { DeepPartial, ExpiryFormat, LoginContract } from '../mapping/contract.ts';
import { decodeJwtClaims } from '../mapping/login.ts';
import { parseTime } from '../mapping/time.ts';
import { isObject } from '../mapping/tokenize-key.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { parentPointer } from './classify.ts';
import { fillGaps } from './fill-gaps.ts';
import { type FieldProfile, profileFields } from './profile.ts';
import { LOGIN } from './vocabulary.ts';

/** A contract of the login without gaps: what is not configured is told from the answer. */
export function completeLogin(
  answer: UpstreamResponse,
  configured?: DeepPartial<LoginContract>,
): LoginContract {
  return fillGaps<LoginContract>(configured, inferLogin(answer));
}

/** Tells where the answer of a login holds what: at its top, or up to two wrappers down. */
export function inferLogin({ body }: UpstreamResponse): LoginContract {
  const places = profileFields(isObject(body) ? [body] : []).filter(
    ({ path }) => path.split('/').length <= 3,
  );
  const texts = places.filter(({ values: [value] }) => typeof value === 'string');
  const accessToken = best(texts, LOGIN.accessToken);
  const ends = places.filter((place) => expiryFormat(place) !== null);
  return {
    accessToken: accessToken?.pointer ?? null,
    refreshToken: best(texts, LOGIN.refreshToken)?.pointer ?? null,
    tokenType: best(texts, LOGIN.tokenType)?.pointer ?? null,
    expires: inferExpiry(ends, accessToken),
  };
}

function best(places: readonly FieldProfile[], rules: readonly RegExp[]): FieldProfile | undefined {
  const depthOf = ({ path }: FieldProfile) => path.split('/').length;
  const ranked = places
    .map((place) => ({ place, rule: rules.findIndex((rule) => rule.test(place.path)) }))
    .filter(({ rule }) => rule >= 0)
    .sort((a, b) => a.rule - b.rule || depthOf(a.place) - depthOf(b.place));
  return ranked[0]?.place;
}

/** What stands beside the token is its end; what stands elsewhere only where the token does not say. */
function inferExpiry(
  ends: readonly FieldProfile[],
  token: FieldProfile | undefined,
): LoginContract['expires'] {
  const home = token && parentPointer(token.pointer);
  const isOther = (name = '') => LOGIN.others.test(name);
  const beside = best(
    ends.filter(
      ({ pointer, path }) => parentPointer(pointer) === home && !isOther(path.split('/').at(-1)),
    ),
    LOGIN.expires,
  );
  if (beside === undefined && token !== undefined && 'exp' in decodeJwtClaims(token.values[0]))
    return { at: token.pointer, as: 'jwt' };
  const apart = ends.filter(({ path }) => !isOther(path));
  const end = beside ?? best(apart, LOGIN.expires);
  const as = end === undefined ? null : expiryFormat(end);
  return end === undefined || as === null ? null : { at: end.pointer, as };
}

/** Thirty years: what is more is an instant, or stands for ever. */
const MAX_SECONDS = 1e9;

/** A lifetime is told from an instant by its size and its name; null where neither says enough. */
function expiryFormat({ path, values: [value] }: FieldProfile): ExpiryFormat | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null;
  const name = path.slice(path.lastIndexOf('/') + 1);
  const isLifetime = /\b(?:in|ttl|lifetime|second|sec)\b/.test(name);
  if (!isLifetime && parseTime(value) !== null)
    return INSTANTS.find((format) => parseTime(value) === parseTime(value, format)) ?? null;
  if (!/^\d+(?:\.\d+)?$/.test(String(value))) return null;
  if (/\b(?:ms|m|milli|millis|millisecond)\b/.test(path))
    return Number(value) < 1000 * MAX_SECONDS ? 'milliseconds' : null;
  const isOther = /\b(?:min|minute|hour|day|at|on|date)\b/.test(path);
  return isOther || Number(value) >= MAX_SECONDS ? null : 'seconds';
}

const INSTANTS = [
  'epoch-seconds',
  'epoch-milliseconds',
  'epoch-microseconds',
  'iso8601',
  'rfc2822',
] as const;
