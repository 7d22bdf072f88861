import { GatewayError } from '../errors.ts';
import { type Answer, type ExpiryFormat, type LoginContract, take } from './contract.ts';
import { refuseFailed, SAY_WHERE } from './failure.ts';
import { isObject } from './names.ts';
import { type Instant, readTime, toInstant } from './time.ts';

/** What a login obtained. */
export type Login = {
  readonly accessToken: string;
  readonly tokenType: string;
  /** Null when the answer has none. */
  readonly refreshToken: string | null;
  /** Null when the answer does not say. */
  readonly expiresAt: Instant | null;
  /** The whole answer. */
  readonly raw: unknown;
};

/**
 * Reads the answer of a login where the contract says.
 * @param now the instant from which a lifetime counts.
 * @throws GatewayError UPSTREAM_BAD_RESPONSE when it has no access token, UPSTREAM_ERROR when it says that it failed.
 */
export function readLogin(contract: LoginContract, answer: Answer, now: Date): Login {
  const accessToken = readToken(take(contract.accessToken, answer));
  if (accessToken === null) {
    refuseFailed(answer);
    const message = `No access token is found in the service's answer: ${SAY_WHERE}`;
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'NO_TOKEN', message });
  }
  return {
    accessToken,
    tokenType: readToken(take(contract.tokenType, answer)) ?? 'Bearer',
    refreshToken: readToken(take(contract.refreshToken, answer)),
    expiresAt:
      contract.expires && readExpiry(take(contract.expires.at, answer), contract.expires.as, now),
    raw: answer.body,
  };
}

/** A token is a text that can stand in a header: not empty, no control characters. A header may hold its scheme too. */
function readToken(value: unknown): string | null {
  const token = typeof value === 'string' ? value.replace(/^Bearer +/i, '') : '';
  return /^\P{Cc}+$/u.test(token) ? token : null;
}

function readExpiry(value: unknown, format: ExpiryFormat, now: Date): Instant | null {
  if (format === 'jwt') return readTime(claimsOf(value)['exp'], 'epoch-seconds');
  if (format !== 'seconds' && format !== 'milliseconds') return readTime(value, format);
  const isNumber =
    typeof value === 'number' || (typeof value === 'string' && /^\d+(?:\.\d+)?$/.test(value));
  const lifetime = isNumber ? Number(value) : -1;
  const unit = format === 'seconds' ? 1000 : 1;
  return lifetime < 0 ? null : toInstant(now.getTime() + lifetime * unit);
}

/** What a JSON Web Token claims (RFC 7519), not verified: that is up to the service. None when it is no such token. */
export function claimsOf(token: unknown): Readonly<Record<string, unknown>> {
  const [, payload = ''] = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(String(token)) ?? [];
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return isObject(claims) ? claims : {};
  } catch {
    return {};
  }
}
