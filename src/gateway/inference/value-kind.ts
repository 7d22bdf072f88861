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

/** Classes of characters, as bits. */
const [LOWER, UPPER, DIGIT, LINE, DOT, COLON, SLASH, AT, SPACE, OTHER] = [
  ...[1, 2, 4, 8, 16, 32, 64, 128, 256, 512],
] as const;

const [LETTER, WORD, ANY] = [LOWER | UPPER, LOWER | UPPER | DIGIT | LINE, 1023];

/** What a form is: a pattern, the only characters of its texts, and those of which it has at least one. */
type Form = { readonly pattern: RegExp; readonly only: number; readonly oneOf: number };

/** Texts by their form. The first one that matches counts. */
export const FORMS = {
  JSON: { pattern: /^[[{]/, only: ANY, oneOf: OTHER },
  'record word': { pattern: GENERIC_TYPE, only: LETTER | LINE | DOT | SPACE, oneOf: LETTER },
  word: { pattern: /^[a-z]+$/, only: LOWER, oneOf: LOWER },
  Word: { pattern: /^[A-Z][a-z]+$/, only: LETTER, oneOf: UPPER },
  CONSTANT: { pattern: /^[A-Z]+(?:_[A-Z]+)*$/, only: UPPER | LINE, oneOf: UPPER },
  camelCase: { pattern: /^[A-Za-z]+$/, only: LETTER, oneOf: LETTER },
  snake_case: { pattern: /^[A-Za-z]+(?:[_-][A-Za-z]+)+$/, only: LETTER | LINE, oneOf: LINE },
  'dotted.word': { pattern: /^[A-Za-z][\w-]*(?:\.[\w-]+)+$/, only: WORD | DOT, oneOf: DOT },
  'colon:word': {
    pattern: /^[A-Za-z_]+(?::[A-Za-z_]+)+$/,
    only: LETTER | LINE | COLON,
    oneOf: COLON,
  },
  /** The usual form of a time, which needs no parsing. */
  time: {
    pattern:
      /^(?:19|20)\d\d-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:0\d|1[0-2]):?[0-5]\d)$/,
    only: WORD | DOT | COLON | OTHER,
    oneOf: COLON,
  },
  UUID: { pattern: /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i, only: WORD, oneOf: LINE },
  address: { pattern: ADDRESS, only: WORD | DOT | COLON | OTHER, oneOf: DOT | COLON },
  hexadecimal: { pattern: /^(?=.*\d)[\da-f]{12,}$/i, only: LETTER | DIGIT, oneOf: DIGIT },
  /** `evt_118`, `AB12`. */
  code: { pattern: /^[A-Za-z]+[_-]?(?=[A-Za-z]*\d)[A-Za-z\d]{1,15}$/, only: WORD, oneOf: DIGIT },
  'e-mail': { pattern: /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/, only: ANY ^ SPACE, oneOf: AT },
  link: { pattern: /^https?:\/\//, only: ANY, oneOf: SLASH },
  URN: { pattern: /^(?:urn|arn):/, only: ANY, oneOf: COLON },
  path: { pattern: /^\//, only: ANY, oneOf: SLASH },
  /** A product with a version (RFC 9110, section 10.1.5). */
  'user agent': { pattern: /^[\w.!#$%&'*+^`|~-]+\/\d[\w.-]*(?: |$)/, only: ANY, oneOf: SLASH },
  opaque: { pattern: /^(?=.*\d)[\w+/=-]{16,}$/, only: WORD | SLASH | OTHER, oneOf: DIGIT },
  words: { pattern: /^\S+(?:\s\S+){1,3}$/, only: ANY, oneOf: SPACE },
  sentence: { pattern: /\s/, only: ANY, oneOf: SPACE },
} as const satisfies Readonly<Record<string, Form>>;

type FormName = keyof typeof FORMS;

const FORM_LIST = Object.entries(FORMS).map(([name, form]) => ({
  name: name as FormName, // a constant without other keys
  ...form,
}));

/** The class of each ASCII character. */
const CLASSES = Uint16Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  const patterns = [/[a-z]/, /[A-Z]/, /\d/, /[_-]/, /\./, /:/, /\//, /@/, /\s/, /./];
  return 1 << patterns.findIndex((pattern) => pattern.test(character));
});

/** Which classes of characters a text contains. */
function classesOf(text: string): number {
  let classes = 0;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    classes |= code < 128 ? (CLASSES[code] ?? 0) : /\s/.test(text.charAt(index)) ? SPACE : OTHER;
  }
  return classes;
}

/** The form of a text. Its characters rule out most forms, which takes a third of the time of their patterns. */
function formOf(text: string): FormName | 'text' {
  const classes = classesOf(text);
  for (const { name, pattern, only, oneOf } of FORM_LIST) {
    if ((classes & ~only) === 0 && (classes & oneOf) !== 0 && pattern.test(text)) return name;
  }
  return 'text';
}

/** What a value looks like. */
export type ValueKind =
  | FormName
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

/**
 * Says what values look like: the kind of more than half of them, and all. `distinct` has each value once. A value that
 * has the form of the first one counts as the same: one test is enough.
 */
export function kindsOf(
  values: readonly unknown[],
  distinct: readonly unknown[] = values,
): { readonly kind: ValueKind | 'mixed'; readonly kinds: ReadonlySet<ValueKind> } {
  const [first] = values;
  const kind = kindOf(first);
  const pattern = typeof first === 'string' ? patternOf(kind) : undefined;
  const kindOfOther = (value: unknown) =>
    typeof value === 'string' && value.length <= MAX_LENGTH && pattern?.test(value)
      ? kind
      : kindOf(value);
  const all = distinct.map((value, index) => (index === 0 ? kind : kindOfOther(value)));
  const kinds = new Set(all);
  if (kinds.size === 1) return { kind, kinds };
  const kindByValue = new Map(distinct.map((value, index) => [value, all[index]]));
  const countOf = (one: ValueKind) =>
    values.filter((value) => kindByValue.get(value) === one).length;
  return { kind: [...kinds].find((one) => 2 * countOf(one) > values.length) ?? 'mixed', kinds };
}

function patternOf(kind: ValueKind): RegExp | undefined {
  return kind in FORMS ? FORMS[kind as FormName].pattern : undefined; // `in` does not narrow
}

/** Digits apart, or the form of Microsoft's JSON: `/Date(1652621703570)/`. */
const MAY_BE_TIME = /\d\D+\d|^\/Date\(/;

function kindOf(value: unknown): ValueKind {
  if (typeof value === 'boolean') return 'flag';
  if (typeof value === 'number') return kindOfNumber(value);
  const text = String(value);
  if (text.length > MAX_LENGTH) return 'JSON';
  if (/^\d+$/.test(text)) return kindOfNumber(Number(text));
  const form = formOf(text);
  if (form === 'time' || form === 'address' || form === 'UUID') return form;
  if (text.length > MAX_TIME_LENGTH || !MAY_BE_TIME.test(text)) return form;
  if (ADDRESS.test(String(firstOfList(text)))) return 'address';
  if (parseTime(text) !== null) return 'time';
  return isLocalTime(text) ? 'local time' : form;
}

function kindOfNumber(value: number): ValueKind {
  if (Number.isInteger(value) && value >= 200 && value < 600) return 'status';
  if (parseTime(value) !== null) return 'epoch';
  return Number.isInteger(value) ? 'integer' : 'decimal';
}
