import { splitMemberName } from '../gateway/mapping/member-names.ts';
import { escapeUnprintable } from '../util/escape-unprintable.ts';
import { replaceKeys } from '../util/key-forms.ts';

/** Names of credentials. Their values are never shown. */
const SECRET_NAMES =
  /(?:^| )(?:token|secret|password|passwd|passphrase|pwd|jwt|bearer|credential|authorization|cookie|otp|pin|(?:api|access|private|secret|session|signing|encryption) key)$/;

/** A JSON Web Token, or a value with the prefix of an authorization header. */
const SECRET_VALUES = /^(?:ey[\w-]{8,}\.[\w-]+\.|(?:bearer|basic|token) \S{8,})/i;

/** Whether a field holds a credential, judged by its pointer and a value. */
export function isSecret(pointer: string, value: unknown): boolean {
  return SECRET_NAMES.test(wordsOf(pointer)) || SECRET_VALUES.test(String(value));
}

/** The words of the last key that says what a value is. */
function wordsOf(pointer: string): string {
  const [key = '', parent = ''] = pointer
    .split('/')
    .filter((token) => !/^\d*$/.test(token))
    .toReversed();
  return splitMemberName(/^(?:value|key|raw|text)$/i.test(key) ? parent : key).words;
}

/** Names of what may be a credential in a record, or a text about one. */
const MAYBE_SECRET_NAMES =
  /(?:^| )(?:session|(?:session )?sid|\w*sess ?id|jsessionid|session id|ticket|hash|salt|signature|nonce|csrf|xsrf|assertion|(?:auth|authentication|client|consumer|master|shared) key|(?:recovery|backup|auth|authorization) code)$/;

/** Formats a value of the field at a pointer for the report, in a number of columns. */
export type ShowValue = (pointer: string, value: unknown, width: number) => string;

/** Formats a value of a trail: escaped, cut, and only the length of what may be a credential or has the form of a key. */
export const showValue: ShowValue = (pointer, value, width) => {
  const isHidden = isSecret(pointer, value) || MAYBE_SECRET_NAMES.test(wordsOf(pointer));
  return isHidden ? showLength(pointer, value, width) : cut(String(value), width);
};

/** Formats a value of a response that may be that of a login: only its length. */
export const showLength: ShowValue = (_, value, width) => cut(describeLength(String(value)), width);

/** The length of a text that must not be shown. */
export function describeLength(text: string): string {
  return `(${text.length} ${text.length === 1 ? 'character' : 'characters'})`;
}

/** Replaces what has the form of a key by its length. */
export const hideKeys = (text: string): string => replaceKeys(text, describeLength);

/** Characters after those that are shown, so that a key is found that begins there. */
const AHEAD = 100;

/** Replaces what has the form of a key by its length, escapes the text, and cuts it to a number of columns. */
export function cut(text: string, width: number): string {
  const start = text.slice(0, 2 * width + AHEAD);
  const escaped = escapeUnprintable(
    hideKeys(start)
      .slice(0, 2 * width)
      .toWellFormed(),
  );
  const isWhole = escaped.length <= width && text.length <= 2 * width;
  return isWhole ? escaped : `${escaped.slice(0, width - 1).toWellFormed()}…`;
}
