// Kept for speed: memoized key names are x1.6 with 10 records (npm run bench -- --load small).

/** A key that looks like data: an e-mail address, two digits as in nearly every token and ID, or a text that was cut. */
const LOOKS_LIKE_DATA = /[^/]@|\d.*\d|…/s;

const MAX_LENGTH = 80;
const MAX_KEYS = 1000;

/**
 * Memoizes a pure function of a JSON key; the service's responses repeat the same keys. Results for keys that look like
 * data are never cached, so that no response data outlives its request. The cache is cleared at 1,000 keys.
 */
export function memoize<T extends NonNullable<unknown>>(
  compute: (key: string) => T,
): (key: string) => T {
  const cache = new Map<string, T>();
  return (key) => {
    const cached = cache.get(key);
    if (cached !== undefined) return cached;
    const result = compute(key);
    if (cache.size === MAX_KEYS) cache.clear();
    if (isCacheableKey(key)) cache.set(key, result);
    return result;
  };
}

/** Whether a key is certainly the name of a field, not response data, so that it may be cached. */
export function isCacheableKey(key: string): boolean {
  return key.length <= MAX_LENGTH && !LOOKS_LIKE_DATA.test(key);
}

/** Returns a function that computes a value at its first call, and returns the same value at every later one. */
export function lazy<T extends NonNullable<unknown> | null>(compute: () => T): () => T {
  let value: T | undefined;
  return () => {
    if (value === undefined) value = compute();
    return value;
  };
}

/** Memoizes a function of an object, for as long as the object is in use. */
export function memoizeByObject<K extends object, T extends NonNullable<unknown>>(
  compute: (key: K) => T,
): (key: K) => T {
  const cache = new WeakMap<K, T>();
  return (key) => {
    const cached = cache.get(key);
    if (cached !== undefined) return cached;
    const value = compute(key);
    cache.set(key, value);
    return value;
  };
}
