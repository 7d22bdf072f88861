import { firstOfList } from '../mapping/event.ts';
import { isLocalTime, parseTime } from '../mapping/time.ts';

const BYTE = String.raw`(?:25[0-5]|2[0-4]\d|1?\d?\d)`;
const IPV4 = String.raw`(?:${BYTE}\.){3}${BYTE}`;

/** An IPv4 or IPv6 address, with or without a port. Strict, because times, versions and MAC addresses look similar. */
const ADDRESS = new RegExp(
  String.raw`^(?:${IPV4}(?::\d+)?|\[?(?:(?:[\da-f]{1,4}:){7}[\da-f]{1,4}|(?=.*::)(?!.*::.*::)(?:[\da-f]{0,4}:){2,7}(?:[\da-f]{1,4}|${IPV4})?)(?:%\w+)?\]?(?::\d+)?)$`,
  'i',
);

/** Values of a `type` that only mean "audit record". */
export const GENERIC_TYPE = /^(?:(?:audit|event|log|record|entry|activity|item)s?[\s._-]?){1,4}$/i;

/** Texts by their form. The first one that matches counts. */
const FORMS = {
  JSON: /^[[{]/,
  'record word': GENERIC_TYPE,
  word: /^[a-z]+$/,
  Word: /^[A-Z][a-z]+$/,
  CONSTANT: /^[A-Z]+(?:_[A-Z]+)*$/,
  camelCase: /^[A-Za-z]+$/,
  snake_case: /^[A-Za-z]+(?:[_-][A-Za-z]+)+$/,
  'dotted.word': /^[A-Za-z][\w-]*(?:\.[\w-]+)+$/,
  'colon:word': /^[A-Za-z_]+(?::[A-Za-z_]+)+$/,
  /** The usual form of a time, which needs no parsing. */
  time: /^(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:0\d|1[0-2]):?[0-5]\d)$/,
  UUID: /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i,
  address: ADDRESS,
  hexadecimal: /^(?=.*\d)[\da-f]{12,}$/i,
  /** `evt_118`, `AB12`. */
  code: /^[A-Za-z]+[_-]?(?=[A-Za-z]*\d)[A-Za-z\d]{1,15}$/,
  'e-mail': /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/,
  link: /^https?:\/\//,
  URN: /^(?:urn|arn):/,
  path: /^\//,
  /** A product with a version (RFC 9110, section 10.1.5). */
  'user agent': /^[\w.!#$%&'*+^`|~-]+\/\d[\w.-]*(?: |$)/,
  opaque: /^(?=.*\d)[\w+/=-]{16,}$/,
  words: /^\S+(?:\s\S+){1,3}$/,
  sentence: /\s/,
} as const satisfies Readonly<Record<string, RegExp>>;

const FORM_NAMES = Object.keys(FORMS) as (keyof typeof FORMS)[]; // a constant without other keys

/** What a value looks like. */
export type ValueKind =
  | keyof typeof FORMS
  | 'flag'
  | 'epoch'
  | 'status'
  | 'integer'
  | 'decimal'
  | 'local time'
  | 'text';

/** Identifiers and names are shorter. Regular expressions overflow V8's stack on texts of millions of characters. */
const MAX_LENGTH = 10_000;

/** Texts that may be a time. Longer ones are not: an annotation of a zone takes most of 100 characters. */
const MAX_TIME_LENGTH = 100;

/** Says what each value looks like. A value that has the form of the first one counts as the same: one test is enough. */
export function kindsOf(values: readonly unknown[]): readonly ValueKind[] {
  const [first] = values;
  const kind = kindOf(first);
  const form: RegExp | undefined = typeof first === 'string' ? Object(FORMS)[kind] : undefined;
  return values.map((value) =>
    typeof value === 'string' && value.length <= MAX_LENGTH && form?.test(value)
      ? kind
      : value === first
        ? kind
        : kindOf(value),
  );
}

function kindOf(value: unknown): ValueKind {
  if (typeof value === 'boolean') return 'flag';
  if (typeof value === 'number') return kindOfNumber(value);
  const text = String(value);
  if (text.length > MAX_LENGTH) return 'JSON';
  if (/^\d+$/.test(text)) return kindOfNumber(Number(text));
  const form = FORM_NAMES.find((one) => FORMS[one].test(text)) ?? 'text';
  if (form === 'time' || form === 'address' || form === 'UUID') return form;
  if (text.length > MAX_TIME_LENGTH || !/\d\D+\d/.test(text)) return form;
  if (ADDRESS.test(String(firstOfList(text)))) return 'address';
  if (parseTime(text) !== null) return 'time';
  return isLocalTime(text) ? 'local time' : form;
}

function kindOfNumber(value: number): ValueKind {
  if (Number.isInteger(value) && value >= 200 && value < 600) return 'status';
  if (parseTime(value) !== null) return 'epoch';
  return Number.isInteger(value) ? 'integer' : 'decimal';
}
