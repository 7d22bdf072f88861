import { splitMemberName } from '../../mapping/member-names.ts';
import { escapeUnprintable } from '../../util/escape-unprintable.ts';

/** Names of credentials. Their values are never shown. */
const SECRET_NAMES =
  /(?:^| )(?:token|secret|password|passwd|passphrase|pwd|jwt|bearer|credential|authorization|cookie|otp|pin|(?:api|access|private|secret|session|signing|encryption) key)$/;

/** A JSON Web Token, or a value with the prefix of an authorization header. */
const SECRET_VALUES = /^(?:ey[\w-]{8,}\.[\w-]+\.|(?:bearer|basic|token) \S{8,})/i;

/** Whether a field holds a credential, judged by its pointer and a value. */
export function isSecret(pointer: string, value: unknown): boolean {
  const [key = '', parent = ''] = pointer
    .split('/')
    .filter((token) => !/^\d*$/.test(token))
    .toReversed();
  const { words } = splitMemberName(/^(?:value|key|raw|text)$/i.test(key) ? parent : key);
  return SECRET_NAMES.test(words) || SECRET_VALUES.test(String(value));
}

/** Formats a value of a field for the report: escaped, cut, and only the length of a credential. */
export function showValue(pointer: string, value: unknown, width: number): string {
  const text = String(value);
  return cut(isSecret(pointer, value) ? describeLength(text) : text, width);
}

/** The length of a text that must not be shown. */
export function describeLength(text: string): string {
  return `(${text.length} ${text.length === 1 ? 'character' : 'characters'})`;
}

/** Escapes a text, and cuts it to a number of columns. */
export function cut(text: string, width: number): string {
  const escaped = escapeUnprintable(text.slice(0, 2 * width).toWellFormed());
  const isWhole = escaped.length <= width && text.length <= 2 * width;
  return isWhole ? escaped : `${escaped.slice(0, width - 1).toWellFormed()}…`;
}
