import { profileFields } from '../../gateway/inference/profile-fields.ts';
import type { LoginContract, Source } from '../../gateway/mapping/contract.ts';
import { splitMemberName } from '../../gateway/mapping/member-names.ts';
import { readSource } from '../../gateway/mapping/read-source.ts';
import { parseTime } from '../../gateway/mapping/time.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import { describeLength } from '../show-value.ts';
import { formatSource, type ReadyLine } from './format.ts';
import { detectFormats } from './suggest-time.ts';

/** A text of a response to a login: a field of the body, or a header. */
type LoginText = {
  readonly source: Exclude<Source, null>;
  readonly words: string;
  readonly text: string;
};

/** Names of an access token, and names that it may have if there is no better one. */
const TOKEN_NAMES = /(?:^| )(?:token|jwt|bearer|authorization|access)(?: (?:value|key|token))?$/;
const WEAK_TOKEN_NAMES =
  /(?:^| )(?:session|session id|sid|ticket|key|auth|authentication|credential|assertion|cookie|secret)$/;
const REFRESH_NAMES = /(?:^| )refresh(?: |$)/;

/** Tokens for another purpose, and headers about access and authorization. */
const OTHER_NAMES =
  /\b(?:refresh|csrf|xsrf|mfa|otp|reset|verification|verify|device|push|state|type|expir\w*|control|request|trace|correlation|www|proxy|set)\b/;

const JWT = /^(?:Bearer )?ey[\w-]+\.[\w-]+\.[\w-]*$/i;
const OPAQUE = /^(?:Bearer )?(?=.*\d)[\w+/=.~:|-]{16,}$/i;

/** Lists the texts of a body with their lengths. They are not shown, as one of them may be a token. */
export function listTexts({ body }: UpstreamResponse): readonly string[] {
  return textsOfBody(body).map(
    ({ source, text }) => `${formatSource(source)} ${describeLength(text)}`,
  );
}

/** Suggests where the access token is, best first. No suggestion has the value of a text. */
export function suggestAccessToken(response: UpstreamResponse): readonly ReadyLine[] {
  const ranked = textsOf(response)
    .map((text) => ({ ...text, rank: rankOf(text) }))
    .sort((a, b) => b.rank - a.rank);
  const named = ranked.filter(({ rank }) => rank >= 2);
  // Without a name, a single text that looks like a token is one.
  const unnamed = ranked.filter(({ rank }) => rank === 1);
  const found = named.length > 0 ? named : unnamed.length === 1 ? unnamed : [];
  return found.map(({ source, text }) => toLine({ accessToken: source }, text));
}

function rankOf({ source, words, text }: LoginText): number {
  if (
    OTHER_NAMES.test(words) ||
    parseTime(text) !== null ||
    /\s/.test(text.replace(/^Bearer /i, ''))
  )
    return -1;
  const name = TOKEN_NAMES.test(words) ? 3 : WEAK_TOKEN_NAMES.test(words) ? 2 : 0;
  if (typeof source === 'object' && name === 0) return -1;
  return name + (JWT.test(text) ? 2 : OPAQUE.test(text) ? 1 : 0);
}

/** Suggests where the refresh token is: texts that are named so, or else texts that look like a token, best first. */
export function suggestRefreshToken(
  response: UpstreamResponse,
  accessToken: Source,
): readonly ReadyLine[] {
  const known = readSource(accessToken, response);
  const rank = ({ source, words, text }: LoginText) => {
    if (text === known || /\s/.test(text) || parseTime(text) !== null || /\btype$/.test(words))
      return 0;
    if (REFRESH_NAMES.test(words)) return 3;
    if (TOKEN_NAMES.test(words)) return 2;
    return typeof source !== 'object' && (JWT.test(text) || OPAQUE.test(text)) ? 1 : 0;
  };
  const ranked = textsOf(response)
    .map((text) => ({ ...text, rank: rank(text) }))
    .filter(({ rank }) => rank > 0)
    .sort((a, b) => b.rank - a.rank);
  const named = ranked.filter(({ rank }) => rank === 3);
  const found = named.length > 0 ? named : ranked;
  return found.map(({ source, text }) => toLine({ refreshToken: source }, text));
}

const EXPIRY_NAMES = /\b(?:expir\w*|lifetime|ttl|validity|valid (?:until|to|for)|max age)\b/;

/** Suggests when the access token expires: an instant in an unusual format, or a number without a unit. */
export function suggestExpiry({ body }: UpstreamResponse): readonly ReadyLine[] {
  return profileFields([body])
    .filter(({ path }) => EXPIRY_NAMES.test(path) && !/\b(?:refresh|password|id)\b/.test(path))
    .flatMap(({ pointer, values: [value] }) => {
      const isNumber = /^\d{1,9}(?:\.\d+)?$/.test(String(value));
      // Tokens live for minutes or hours: more than a day in seconds, in thousands, is in milliseconds.
      const isMillis = Number(value) > 86_400 && Number(value) % 1000 === 0;
      const units = isMillis ? (['milliseconds', 'seconds'] as const) : (['seconds'] as const);
      const formats = isNumber ? units.map((as) => ({ as })) : detectFormats([value]);
      return formats
        .filter((format) => format !== null)
        .map((format) => toLine({ expires: { at: pointer, ...format } }, String(value)));
    });
}

function toLine(login: Readonly<Partial<LoginContract>>, text: string): ReadyLine {
  return { contract: { login }, describe: () => describeLength(text) };
}

function textsOf({ body, headers }: UpstreamResponse): readonly LoginText[] {
  const ofHeaders = Object.entries(headers).flatMap(([name, value]) => {
    const { words } = splitMemberName(name);
    const [text] = [value].flat();
    return text === undefined ? [] : [{ source: { header: name }, words, text }];
  });
  return [...textsOfBody(body), ...ofHeaders];
}

function textsOfBody(body: unknown): readonly LoginText[] {
  if (typeof body === 'string') return [{ source: '', words: 'token', text: body.trim() }];
  return profileFields([body]).flatMap(({ pointer, path, values: [value] }) =>
    typeof value === 'string'
      ? [{ source: pointer, words: path.replaceAll('/', ' '), text: value }]
      : [],
  );
}
