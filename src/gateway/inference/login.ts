import type { UpstreamResponse } from '../../util/upstream-response.ts';
import {
  type ConfiguredContract,
  type DeepPartial,
  type ExpiryFormat,
  fillGaps,
  type LoginContract,
} from '../mapping/contract.ts';
import { parentOf } from '../mapping/json-pointer.ts';
import { type CompleteLogin, decodeJwtClaims, isExpiry } from '../mapping/login.ts';
import { detectFormat, parseTime } from '../mapping/time.ts';
import { isObject } from '../mapping/values.ts';
import { type FieldProfile, profileFields } from './profile-fields.ts';
import {
  describePlace,
  findStep,
  LOGIN_NAMES,
  namesCredential,
  TOKEN_NAMES,
  wordsOfToken,
} from './token-names.ts';

/** Completes the contract with which a response is read, see {@link completeLogin}. */
export function toReadableLogin(
  response: UpstreamResponse,
  { login, errors }: Pick<ConfiguredContract, 'login' | 'errors'>,
): CompleteLogin {
  const isConfigured = login?.accessToken !== undefined;
  return { ...completeLogin(response, login), errors, isConfigured };
}

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
  const fields = listFields(body);
  const texts = textsOf(fields);
  const { field: accessToken } = findAccessToken(fields);
  const expiries = withinReach(fields).filter((field) => detectExpiryFormat(field) !== null);
  return {
    accessToken: accessToken?.pointer ?? null,
    refreshToken: findToken(texts, TOKEN_NAMES.refresh).field?.pointer ?? null,
    tokenType: findBest(texts, LOGIN_NAMES.tokenType)?.pointer ?? null,
    expires: inferExpiry(expiries, accessToken),
  };
}

function listFields(body: unknown): readonly FieldProfile[] {
  return profileFields(isObject(body) ? [body] : [], { maxItems: MAX_ITEMS });
}

function withinReach(fields: readonly FieldProfile[]): readonly FieldProfile[] {
  return fields.filter((field) => countKeys(field) <= MAX_KEYS);
}

function textsOf(fields: readonly FieldProfile[]): readonly FieldProfile[] {
  return withinReach(fields).filter(({ values: [value] }) => typeof value === 'string');
}

function countKeys({ path }: FieldProfile): number {
  return path.split('/').length;
}

/**
 * Says why a response has no access token, and which entry of the contract would say where it is. The sentences have no
 * name or text of the service.
 */
export function explainMissingToken(
  { body }: UpstreamResponse,
  configured: DeepPartial<LoginContract> = {},
): string {
  if (configured.accessToken !== undefined)
    return "The entry `login.accessToken` of the contract leads to no text in the service's response, or to several.";
  const fields = listFields(body);
  const { step, candidates } = findAccessToken(fields);
  const others = textsOf(fields).filter(namesCredential);
  const why =
    step !== null
      ? `The service asks for a further step (\`${step}\`): no token of its response is taken for the access token.`
      : candidates.length > 0
        ? "The service's response has several texts that may be the access token."
        : "The service's response has no text with the name of an access token.";
  const found = step === null && candidates.length > 0 ? candidates : others;
  const places = [...new Set(found.map(describePlace))].slice(0, MAX_PLACES);
  return places.length === 0
    ? why
    : `${why} If it is one of ${places.join(', ')}, add \`login.accessToken\` to the contract.`;
}

/** Places in an error message. */
const MAX_PLACES = 3;

/** What is known of a token: its field, or why there is none. */
type FoundToken = {
  readonly field: FieldProfile | undefined;
  /** The best fields; those of several tokens are ambiguous. */
  readonly candidates: readonly FieldProfile[];
};

/** Finds the access token. There is none if the response asks for a further step: `step` is the word that says so. */
function findAccessToken(
  fields: readonly FieldProfile[],
): FoundToken & { readonly step: string | null } {
  const texts = textsOf(fields);
  const named = findToken(texts, TOKEN_NAMES.access);
  const found = named.candidates.length > 0 ? named : findOnlyToken(texts);
  for (const { path } of found.candidates) {
    const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    for (const field of fields) {
      const step = findStep(field, parent);
      if (step !== null) return { ...found, field: undefined, step };
    }
  }
  return { ...found, step: null };
}

/** Finds an ID token: without any other token, services accept it as the access token. */
function findOnlyToken(texts: readonly FieldProfile[]): FoundToken {
  const others = texts.filter(
    (text) => namesCredential(text) && rankByToken([text], TOKEN_NAMES.refresh).length === 0,
  );
  const found = findToken(texts, TOKEN_NAMES.only);
  const isOnly = others.every((text) => found.candidates.includes(text));
  return isOnly ? found : { field: undefined, candidates: [] };
}

/** Finds the field with the best name. None if another one that fits equally well has a different text: it would be a guess. */
function findToken(fields: readonly FieldProfile[], patterns: readonly RegExp[]): FoundToken {
  const ranked = rankByToken(fields, patterns);
  const candidates = ranked
    .filter(({ rank }) => rank === ranked[0]?.rank)
    .map(({ field }) => field);
  const [first, ...others] = candidates;
  const isAmbiguous = others.some(({ values }) => values[0] !== first?.values[0]);
  return { field: isAmbiguous ? undefined : first, candidates };
}

function rankByToken(fields: readonly FieldProfile[], patterns: readonly RegExp[]) {
  return rankByPattern(fields, patterns, ({ path }) => wordsOfToken(path));
}

/** Finds the field that matches the first possible pattern; among several, the least nested one. */
function findBest(
  fields: readonly FieldProfile[],
  patterns: readonly RegExp[],
): FieldProfile | undefined {
  return rankByPattern(fields, patterns)[0]?.field;
}

/** The fields whose name matches a pattern, best first. */
function rankByPattern(
  fields: readonly FieldProfile[],
  patterns: readonly RegExp[],
  nameOf = ({ path }: FieldProfile) => path,
) {
  return fields
    .map((field) => ({
      field,
      rank: patterns.findIndex((pattern) => pattern.test(nameOf(field))),
    }))
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
