import type { LoginMutation } from './operations.generated.ts';

/** Names that say nothing about a service. Any other one is not shown: it may itself be a token. */
const SHOWN =
  /^(?:(?:access|auth|body|data|id|jwt|key|payload|refresh|response|result|session|token|user|value)s?_?)+$/i;

/** A text under such a name may be a token, and so may one that looks like nothing that a person reads. */
const TOKEN_NAME = /token|jwt/i;
const OPAQUE = /^(?=.*\d)[\w+/=.~|-]{16,}$/;

/** Objects in objects that are searched. */
const MAX_DEPTH = 5;

/** Texts in a message. */
const MAX_TEXTS = 5;

/** Says that a login returned no refresh token, and which texts of its response may be one. */
export function describeMissingRefreshToken(texts: readonly string[]): string {
  const advice =
    texts.length === 0
      ? ''
      : ` If it is one of these texts of the response, add \`login.refreshToken\` to the contract of the gateway: ${texts.slice(0, MAX_TEXTS).join(', ')}.`;
  return `The login returned no refresh token that Keytrail found: a later login needs the client secret again.${advice}`;
}

/**
 * Lists the texts of a login's response that may be its refresh token: by place and length, without a value. The place has
 * `*` for a name that the service chose.
 */
export function listPossibleTokens({
  raw,
  accessToken,
}: NonNullable<LoginMutation['login']>): readonly string[] {
  const list = (value: unknown, name: string, place: string, depth: number): readonly string[] => {
    if (typeof value === 'string') {
      const mayBeToken =
        TOKEN_NAME.test(name) && !/type$/i.test(name) ? value !== '' : OPAQUE.test(value);
      return mayBeToken && value.trim().replace(/^Bearer +/i, '') !== accessToken
        ? [`${place} (${value.length} ${value.length === 1 ? 'character' : 'characters'})`]
        : [];
    }
    if (typeof value !== 'object' || value === null || depth === MAX_DEPTH) return [];
    return Object.entries(value).flatMap(([key, member]) =>
      list(
        member,
        Array.isArray(value) ? name : key,
        `${place}/${Array.isArray(value) || SHOWN.test(key) ? key : '*'}`,
        depth + 1,
      ),
    );
  };
  return list(raw, '', '', 0);
}
