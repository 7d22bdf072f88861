import { findClosestName } from '../../util/closest-name.ts';

/** The names of all members of a type. One that is missing, or is none of them, does not compile. */
export type NamesOf<Type> = Readonly<Record<keyof Type, true>>;

/**
 * Checks that an object has no other members than these: JavaScript ignores a misspelt one.
 * @throws TypeError with the nearest name for each that it does not know.
 */
export function rejectUnknownNames(
  given: object,
  names: Readonly<Record<string, true>>,
  of: string,
): void {
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(names, name));
  if (unknown.length === 0) return;
  const sentences = unknown.map((name) => {
    const meant = findClosestName(name, Object.keys(names));
    return `${name} is not ${of}.${meant === undefined ? '' : ` Did you mean ${meant}?`}`;
  });
  throw new TypeError(sentences.join(' '));
}
