import { parseTime } from '../mapping/time.ts';
import { toFlag } from '../mapping/values.ts';
import { NEGATION, NO, NO_VALUE } from '../mapping/vocabulary.ts';
import type { FieldProfile } from './profile-fields.ts';

/** Objects that only wrap the tokens of a login: their names qualify no token. */
const WRAPPERS = 'data|result|response|body|payload|auth|session|user';

/**
 * Words that may qualify an access token. With any other one, a text is a token for another purpose, such as
 * `renewal_token` or `change_password_token`: what else services call theirs, no list could know.
 */
const QUALIFIERS =
  'api|auth|authentication|authorization|bearer|client|jwt|login|oauth|private|security|service|session|user';

const WRAPPER = new RegExp(`\\b(?:${WRAPPERS})\\b`, 'g');
const TOKEN = '(?:token|jwt)';
const REFRESH = '(?:refresh|renew|renewal|rotation)';

/** What may follow the name of a token: `accessToken.tokenValue`, `jwtToken`. */
const VALUE = `(?: (?:${TOKEN}|value|key))*$`;

/** Names of an access token, best first: plain ones, then those with a known qualifier. The words before may be `tokens`. */
const ACCESS_TOKEN = [
  ...[`access ${TOKEN}`, 'token', 'jwt', 'bearer', 'access(?! key)'].map(
    (name) => new RegExp(`^(?:token )*${name}${VALUE}`),
  ),
  new RegExp(
    `^(?:(?:${QUALIFIERS}|token) )*(?:access ${TOKEN}|${TOKEN}|bearer|access(?! key))${VALUE}`,
  ),
];

/** Names that are those of the access token only if no text but the refresh token has a name with a word for a token. */
const ONLY_TOKEN = [new RegExp(`^(?:(?:${QUALIFIERS}|token) )*(?:id ${TOKEN}|access key)${VALUE}`)];

/** Names of a refresh token, best first. */
const REFRESH_TOKEN = [
  ...[`refresh(?: access)? ${TOKEN}`, 'refresh(?! key)', `${REFRESH}(?: access)? ${TOKEN}`],
].map((name) => new RegExp(`^(?:(?:${QUALIFIERS}|access|token) )*${name}${VALUE}`));

/** Patterns for the words of a token's name and its parents, best first. */
export const TOKEN_NAMES = {
  access: ACCESS_TOKEN,
  only: ONLY_TOKEN,
  refresh: REFRESH_TOKEN,
} as const;

/** The fields of a login response, see `LoginContract`; without the tokens. These patterns match whole paths, with slashes between keys. */
export const LOGIN_NAMES = {
  tokenType: [/\btoken[ /]type$/],
  expires: [
    /\bexpir\w*[ /]in\b/,
    /\bexpir/,
    /\b(?:lifetime|ttl|lease[ /]duration|valid[ /]until|valid[ /]for|validity)\b/,
  ],
  /** Other things that expire: an expiry named after one is not that of the access token. */
  otherExpiry:
    /\b(?:refresh|id|password|device|secret|license|licence|trial|subscription|plan|certificate|cookie|invite|ext)\b/,
} as const;

/** Words of the name of a text that may be a credential. */
const CREDENTIAL = /\b(?:token|jwt|key|ticket)\b/;

/** Whether the name of a field, or of its parents, has a word for a credential. */
export function namesCredential({ path }: FieldProfile): boolean {
  return CREDENTIAL.test(path);
}

/** The words of a token's name and its parents, without those of wrappers around it: `sync token`, `access jwt`. */
export function wordsOfToken(path: string): string {
  const end = path.lastIndexOf('/') + 1;
  return `${path.slice(0, end).replace(WRAPPER, '')} ${path.slice(end)}`
    .split(/[ /]+/)
    .filter((word) => word !== '')
    .join(' ');
}

/** Where a field is, without the names that the service chose: it may name a member after a token. `/*_token` */
export function describePlace({ path }: FieldProfile): string {
  const known = new RegExp(`^(?:${WRAPPERS}|${QUALIFIERS}|${REFRESH}|access|id|key|token|value)$`);
  const keys = path.split('/').map((key) => {
    const words = key.split(' ').map((word) => (known.test(word) ? word : '*'));
    return words.filter((word, index) => word !== '*' || words[index - 1] !== '*').join('_');
  });
  return `/${keys.join('/')}`;
}

/** Words of a member that asks for a further step: `mfa_required`, `mustChangePassword`, `challenge`. */
const STEP = /\b(?:requir\w*|must|need\w*|pending|challenge\w*)\b/;

/** The words of a status that asks for one: `MFA_REQUIRED`, `passwordChangeRequired`, `mfaPending`. */
const STEP_VALUE = /\b(?:requir|must|need|pending|challenge)/;

/** The word of a step as a message has it: the service's own may go on with anything. */
function toStem(word: string): string {
  return /^requir/.test(word)
    ? 'required'
    : (/^(?:must|need|pending|challenge)/.exec(word)?.[0] ?? '');
}

/** A text as words, without the spelling of a code. */
function toWords(text: string): string {
  return text
    .slice(0, MAX_STATUS)
    .replace(/(?<=[a-z\d])(?=[A-Z])/g, ' ')
    .replace(/[_-]+/g, ' ')
    .toLowerCase();
}

/** Characters of a status that are examined. */
const MAX_STATUS = 100;

/** A name that needs that of its object: `{"mfa": {"required": true}}`. */
const BARE = /^(?:(?:is|are) )?(?:required?|needed|pending)$/;

const STATUS = /(?:^| )(?:status|state|phase|stage|step|result|outcome|code)$/;
const NEGATED = /\b(?:not|no|non|never|without)\b/;
const PERSON = /\b(?:user|client)\b/;

/** Objects in which a response speaks of the login: wrappers, but for those of a user or client. */
const OF_LOGIN = new RegExp(`^(?:(?:${WRAPPERS}|${QUALIFIERS}|token)(?: |$))*$`);

/**
 * Finds out whether a member asks for something more than this login, such as a second factor: then the tokens of the
 * response are for that step. It is next to the token or in a wrapper. In a user or client it describes that.
 * @param parent The path of the object that contains the token.
 * @returns the word that says so; null if none does.
 */
export function findStep({ path, values: [value] }: FieldProfile, parent: string): string | null {
  const keys = path.split('/');
  const named = keys.findIndex((key) => STEP.test(key));
  const start =
    named < 0 ? keys.length - 1 : named > 0 && BARE.test(keys[named] ?? '') ? named - 1 : named;
  const before = keys.slice(0, start);
  const isOfLogin = before.every((key) => OF_LOGIN.test(key)) || before.join('/') === parent;
  if (!isOfLogin || keys.slice(0, -1).some((key) => PERSON.test(key))) return null;
  if (NEGATED.test(keys.slice(start).join(' '))) return null;
  if (named >= 0) {
    const [word = ''] = STEP.exec(keys[named] ?? '') ?? [];
    return isAsking(value) ? toStem(word) : null;
  }
  const isStatus = typeof value === 'string' && STATUS.test(keys.at(-1) ?? '');
  const [word] = (isStatus && !isNegated(value) && STEP_VALUE.exec(toWords(value))) || [];
  return word === undefined ? null : toStem(word);
}

/** Whether a value says yes, or is the name of a challenge. A number other than 1 counts something. */
function isAsking(value: unknown): boolean {
  const flag = toFlag(value);
  if (flag !== null) return flag;
  if (typeof value !== 'string' || isNegated(value) || parseTime(value) !== null) return false;
  return /^(?=.*[a-z])[\w.:-]+$/i.test(value);
}

function isNegated(text: string): boolean {
  return (
    NO.test(text) || NO_VALUE.test(text) || NEGATION.test(text) || NOT_ASKED.test(toWords(text))
  );
}

/** A negation, or a step that is not required. */
const NOT_ASKED = /\b(?:not|no|non|never|without)\b|^(?:un\w+|disabled?|optional|off)$/;
