import { GatewayError } from '../../errors.ts';
import { isBearerHeader } from '../../util/bearer-token.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import type { ErrorsContract, ExpiryFormat, LoginContract, Source } from './contract.ts';
import { isPointers } from './json-pointer.ts';
import { readSource } from './read-source.ts';
import { compileTime, type Instant, parseTime, type TimeNotation, toInstant } from './time.ts';
import { isObject } from './values.ts';
import { judge } from './verdict.ts';
import { CONTRACT_HINT, requireSuccess } from './verdict-errors.ts';

/** The tokens of a successful login. */
export type LoginTokens = {
  readonly accessToken: string;
  readonly tokenType: string;
  /** Null if the response has none. */
  readonly refreshToken: string | null;
  /** When the access token expires. Null if the response does not specify it. */
  readonly expiresAt: Instant | null;
  /** The body of the response. */
  readonly raw: unknown;
};

/** The contract of a login that reads one response. */
export type CompleteLogin = LoginContract & {
  readonly errors: ErrorsContract;
  /** Whether the contract says where the access token is: then it is read although the service requires a further step. */
  readonly isConfigured: boolean;
};

/**
 * Reads the tokens from the response of a login. The token type defaults to `Bearer`.
 * @param now when the response was received: a lifetime starts here.
 * @param explainMissing says why there is no access token: sentences without names or texts of the service.
 * @throws GatewayError if the response says that it failed, see `requireSuccess`; UPSTREAM_BAD_RESPONSE without an access
 * token, and with one that no request could send.
 */
export function readLogin(
  contract: CompleteLogin,
  response: UpstreamResponse,
  now: Date,
  explainMissing: (response: UpstreamResponse) => string,
): LoginTokens {
  const read = (source: Source) => readToken(readAll(source, response));
  const verdict = judge(response, { operation: 'login', errors: contract.errors });
  const { isFurtherStep } = requireSuccess(verdict, response, 'login');
  const accessToken = read(contract.accessToken);
  if (accessToken === null || (isFurtherStep && !contract.isConfigured)) {
    const message = `${explainMissing(response)} ${CONTRACT_HINT}`;
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', { reason: 'NO_TOKEN', message });
  }
  if (!isBearerHeader(`Bearer ${accessToken}`))
    throw new GatewayError('UPSTREAM_BAD_RESPONSE', {
      reason: 'TOKEN_MALFORMED',
      message: `${MALFORMED} ${CONTRACT_HINT}`,
    });
  return {
    accessToken,
    tokenType: read(contract.tokenType) ?? 'Bearer',
    refreshToken: read(contract.refreshToken),
    expiresAt:
      contract.expires &&
      readExpiry(readSource(contract.expires.at, response), contract.expires, now),
    raw: response.body,
  };
}

const MALFORMED =
  'The access token of the response cannot be sent in an Authorization header: it has more than 8 KiB, or a space, a comma, a quote or a character that is not ASCII. If it is no access token, set `login.accessToken`.';

/** Whether the access token can only be read from JSON: it is neither in a header, nor the whole body. */
export function requiresJson(accessToken: Source = null): boolean {
  return isPointers(accessToken) && ![accessToken].flat().includes('');
}

/** Reads a field, or all values of a repeated header: two tokens are ambiguous. */
function readAll(source: Source, response: UpstreamResponse): unknown {
  if (isPointers(source)) return readSource(source, response);
  return response.headers[source.header.toLowerCase()];
}

/**
 * Reads a non-empty text without control characters, as required in a header, without space and `Bearer` around it. Also
 * the only one of a list.
 */
function readToken(value: unknown): string | null {
  const [only, ...others] = new Set([value].flat(Number.POSITIVE_INFINITY));
  const text = typeof only === 'string' && others.length === 0 ? only : '';
  const token = text.trim().replace(/^Bearer +/i, '');
  return /^\P{Cc}+$/u.test(token) ? token : null;
}

function readExpiry(
  value: unknown,
  { as, zone }: TimeNotation<ExpiryFormat>,
  now: Date,
): Instant | null {
  if (as !== 'seconds' && as !== 'milliseconds') {
    const time =
      as === 'jwt'
        ? parseTime(decodeJwtClaims(value)['exp'], 'epoch-seconds')
        : compileTime({ as, zone })(value);
    return isExpiry(time) ? time : null;
  }
  const isNumber =
    typeof value === 'number' || (typeof value === 'string' && /^\d+(?:\.\d+)?$/.test(value));
  const lifetime = isNumber ? Number(value) : -1;
  const millisPerUnit = as === 'seconds' ? 1000 : 1;
  return lifetime <= 0 ? null : toInstant(now.getTime() + lifetime * millisPerUnit);
}

/** Whether a time may be an expiry. Earlier ones are the zero of a language or a database: they mean "not set". */
export function isExpiry(time: Instant | null): time is Instant {
  return time !== null && time >= '1971';
}

/** Decodes the claims of a JSON Web Token (RFC 7519) without verifying them. Returns `{}` for any other value. */
export function decodeJwtClaims(token: unknown): Readonly<Record<string, unknown>> {
  const [, payload = ''] = /^[\w-]+\.([\w-]+)\.[\w-]*$/.exec(String(token)) ?? [];
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return isObject(claims) ? claims : {};
  } catch {
    return {};
  }
}
