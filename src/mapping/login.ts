import { GatewayError } from '../errors.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { type ExpiryFormat, type LoginContract, readSource } from './contract.ts';
import { CONTRACT_HINT, throwOnSoftFailure } from './soft-failure.ts';
import { type Instant, parseTime, toInstant } from './time.ts';
import { isObject } from './tokenize-key.ts';

/** What a login obtained. */
export type LoginTokens = {
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
export function readLogin(
  contract: LoginContract,
  answer: UpstreamResponse,
  now: Date,
): LoginTokens {
  const accessToken = readToken(readSource(contract.accessToken, answer));
  if (accessToken === null) {
    throwOnSoftFailure(answer);
    const message = `No access token is found in the service's answer: ${CONTRACT_HINT}`;
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'NO_TOKEN', message });
  }
  return {
    accessToken,
    tokenType: readToken(readSource(contract.tokenType, answer)) ?? 'Bearer',
    refreshToken: readToken(readSource(contract.refreshToken, answer)),
    expiresAt:
      contract.expires &&
      readExpiry(readSource(contract.expires.at, answer), contract.expires.as, now),
    raw: answer.body,
  };
}

/** A token is a text that can stand in a header: not empty, no control characters. A header may hold its scheme too. */
function readToken(value: unknown): string | null {
  const token = typeof value === 'string' ? value.replace(/^Bearer +/i, '') : '';
  return /^\P{Cc}+$/u.test(token) ? token : null;
}

function readExpiry(value: unknown, format: ExpiryFormat, now: Date): Instant | null {
  if (format === 'jwt') return parseTime(decodeJwtClaims(value)['exp'], 'epoch-seconds');
  if (format !== 'seconds' && format !== 'milliseconds') return parseTime(value, format);
  const isNumber =
    typeof value === 'number' || (typeof value === 'string' && /^\d+(?:\.\d+)?$/.test(value));
  const lifetime = isNumber ? Number(value) : -1;
  const unit = format === 'seconds' ? 1000 : 1;
  return lifetime < 0 ? null : toInstant(now.getTime() + lifetime * unit);
}

/** What a JSON Web Token claims (RFC 7519), not verified: that is up to the service. None when it is no such token. */
export function decodeJwtClaims(token: unknown): Readonly<Record<string, unknown>> {
  const [, payload = ''] = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(String(token)) ?? [];
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return isObject(claims) ? claims : {};
  } catch {
    return {};
  }
}
