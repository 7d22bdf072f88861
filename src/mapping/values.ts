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

/** Whether a value is a whole number of digits, as a number or as text. */
export function isCount(value: unknown): boolean {
  return typeof value !== 'object' && /^\d+$/.test(String(value));
}
