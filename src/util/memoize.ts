/** An e-mail address, or two digits, as nearly every token and id has: what may be more than the name of a field. */
const VALUE = /\w@|\d.*\d/s;

const MAX_LENGTH = 80;
const MAX_NAMES = 1000;

/**
 * Remembers what a pure function makes of the names of fields, which are the same in all answers. What may be more
 * than a name is made anew each time, so that nothing of an answer is kept; it forgets all when there are too many.
 */
export function memoize<T extends NonNullable<unknown>>(
  make: (name: string) => T,
): (name: string) => T {
  const known = new Map<string, T>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const made = make(name);
    if (known.size === MAX_NAMES) known.clear();
    if (isCacheableKey(name)) known.set(name, made);
    return made;
  };
}

/** Whether it can only be the name of a field, and is remembered. */
export function isCacheableKey(name: string): boolean {
  return name.length <= MAX_LENGTH && !VALUE.test(name);
}

/** Makes something when it is first asked for. */
export function lazy<T extends NonNullable<unknown> | null>(make: () => T): () => T {
  let made: T | undefined;
  return () => {
    if (made === undefined) made = make();
    return made;
  };
}
