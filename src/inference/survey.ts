import { isObject, wordsOf } from '../reading/names.ts';

/** A place where values hold a text, a number or a boolean. */
export type Place = {
  /** RFC 6901. */
  readonly pointer: string;
  /** The words of the names on the way, a slash between two names: `actor/display name`. */
  readonly path: string;
  /** What stands there in those of the values that have something. */
  readonly values: unknown[];
};

const MAX_DEPTH = 6;
const MAX_PLACES = 1000;

/** Names that only wrap a value: `{"value": …}`, `{"$oid": …}` of MongoDB's extended JSON and its like. */
const WRAPPED = /^(?:value|\$\w+|#text|_)$/;

/** All places of some values, in the order in which they are met; of a list only its first item. */
export function survey(values: readonly unknown[]): readonly Place[] {
  const places = new Map<string, Place>();
  const visit = (value: unknown, pointer: string, names: readonly string[]) => {
    if (Array.isArray(value)) {
      if (value.length > 0) visit(value[0], `${pointer}/0`, names);
    } else if (isObject(value)) {
      if (names.length === MAX_DEPTH) return;
      for (const name in value) {
        if (places.size === MAX_PLACES) return;
        const wraps = names.length > 0 && WRAPPED.test(name);
        visit(value[name], `${pointer}/${escapeToken(name)}`, wraps ? names : [...names, name]);
      }
    } else if (value !== null && value !== undefined && value !== '') {
      const known = places.get(pointer);
      if (known !== undefined) known.values.push(value);
      else places.set(pointer, { pointer, path: names.map(phrase).join('/'), values: [value] });
    }
  };
  for (const value of values) visit(value, '', []);
  return [...places.values()];
}

/** A name as it stands in a pointer (RFC 6901, section 3). */
export function escapeToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function phrase(name: string): string {
  return wordsOf(name).join(' ');
}
