/** Whether a value is a JSON object: not an array, not null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Texts that mean "no value". */
const NO_VALUE = /^(?:|-|n\/a|null)$/i;

/** Converts text and numbers to text. Null for anything else, and for text that means "no value", see NO_VALUE. */
export function toText(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && (value.length > 4 || !NO_VALUE.test(value)) ? value : null;
}

const FLAG = /^(?:(true|yes|on|y|t|1)|false|no|off|n|f|0)$/i;

/** Reads a flag, in any of the ways in which services write one: true, "True", "Y", "on", 1. Null for anything else. */
export function toFlag(value: unknown): boolean | null {
  const match = typeof value === 'object' ? null : FLAG.exec(String(value));
  return match && match[1] !== undefined;
}

/** Whether a value is a whole number of digits, as a number or as text. */
export function isCount(value: unknown): boolean {
  return typeof value !== 'object' && /^\d+$/.test(String(value));
}
