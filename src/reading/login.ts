import { GatewayError } from '../errors.ts';
import { isObject, lookUp, type Members, membersOf, NAMES } from './names.ts';
import { readTime, validDate } from './time.ts';

/** What a login obtained. */
export type Login = {
  readonly accessToken: string;
  readonly tokenType: string;
  /** Null when the answer has none. */
  readonly refreshToken: string | null;
  /** Null when the answer does not say. */
  readonly expiresAt: Date | null;
  /** The whole answer. */
  readonly raw: unknown;
};

/**
 * Reads the answer of a login: tokens at its top or one wrapper down.
 * @param now the instant from which a lifetime counts.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE when it has no access token.
 */
export function readLogin({ body }: { readonly body: unknown }, now: Date): Login {
  const wrappers = isObject(body) ? Object.values(body).filter(isObject) : [];
  for (const members of [body, ...wrappers].map(membersOf)) {
    const accessToken = readToken(lookUp(members, NAMES.accessToken));
    if (accessToken === null) continue;
    return {
      accessToken,
      tokenType: readToken(lookUp(members, NAMES.tokenType)) ?? 'Bearer',
      refreshToken: readToken(lookUp(members, NAMES.refreshToken)),
      expiresAt: readExpiry(members, now),
      raw: body,
    };
  }
  throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'NO_TOKEN' });
}

/** A token is a text that can stand in a header: not empty, no control characters. */
function readToken(value: unknown): string | null {
  return typeof value === 'string' && /^\P{Cc}+$/u.test(value) ? value : null;
}

function readExpiry(members: Members, now: Date): Date | null {
  const seconds = readSeconds(lookUp(members, NAMES.expiresIn));
  if (seconds !== null) return validDate(now.getTime() + seconds * 1000);
  const at = lookUp(members, NAMES.expiresAt);
  return readTime(at);
}

function readSeconds(value: unknown): number | null {
  const seconds = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return typeof seconds === 'number' && seconds >= 0 ? seconds : null;
}
