// Compiled for speed: interpreted pointers take 1.4 times the CPU (10 records; npm run bench -- --load small).

import { isCacheableKey, memoize } from '../../util/memoize.ts';
import type { Pointers } from './contract.ts';
import { isObject } from './values.ts';

/**
 * The grammar of a JSON pointer: empty, or tokens with a leading slash each. A `~` must be part of `~0` or `~1` (RFC
 * 6901, section 3).
 */
export const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/;

/** An array index, without leading zeros (RFC 6901, section 4). */
const INDEX = /^(?:0|[1-9]\d*)$/;

/** Reads a part of a JSON value. */
export type PointerReader = (value: unknown) => unknown;

/** Compiles a JSON pointer into a function that resolves it; `undefined` if there is nothing. Cached, see `memoize`. */
export const compilePointer = memoize(
  (pointer): PointerReader => compileToCode(pointer) ?? interpretPointer(pointer),
);

/** Tokens that need no escaping in code, and are not array indices. */
const SAFE_TOKENS = /^(?:\/[a-z_@$][\w@$:. -]*)+$/i;

/** One value per JSON type, to detect inherited properties such as `length` and `constructor`. */
const ONE_PER_TYPE = [{}, [], '', 0, true].map(Object);

/** Null if a token is not safe in code, or with Node's option `--disallow-code-generation-from-strings`. */
function compileToCode(pointer: string): PointerReader | null {
  const isInherited = (token: string) => ONE_PER_TYPE.some((value) => token in value);
  if (!SAFE_TOKENS.test(pointer) || !isCacheableKey(pointer)) return null;
  if (pointer.split('/').some(isInherited)) return null;
  try {
    return new Function(`return (value) => value${pointer.replace(/\/([^/]+)/g, '?.["$1"]')}`)();
  } catch {
    return null;
  }
}

/** Returns a function that resolves a JSON pointer; `undefined` if there is nothing. Not cached, for pointers of clients. */
export function interpretPointer(pointer: string): PointerReader {
  const tokens = tokensOf(pointer);
  return (value) => {
    let found = value;
    for (const token of tokens) {
      found = getMember(found, token);
      if (found === undefined) break;
    }
    return found;
  };
}

/**
 * Resolves a JSON pointer as far as possible: what it leads to, or the text, number or list that it cannot pass. Null if
 * it cannot pass a null or an empty value, `undefined` if a member is absent.
 */
export function tracePointer(pointer: string, value: unknown): unknown {
  let found = value;
  for (const token of tokensOf(pointer)) {
    const member = getMember(found, token);
    if (member === undefined) {
      const isAbsent =
        isObject(found) || (Array.isArray(found) && found.length > 0 && INDEX.test(token));
      return isAbsent ? undefined : found || null;
    }
    found = member;
  }
  return found;
}

function tokensOf(pointer: string): readonly string[] {
  const escaped = pointer.split('/').slice(1);
  return escaped.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Reads own members only, so that `__proto__` and `length` are keys like any other. */
function getMember(value: unknown, token: string): unknown {
  if (Array.isArray(value)) return INDEX.test(token) ? value[Number(token)] : undefined;
  return isObject(value) && Object.hasOwn(value, token) ? value[token] : undefined;
}

/** Compiles pointers into a function that reads the first value other than null; null or `undefined` without one. */
export function compilePointers(pointers: Pointers): PointerReader {
  const list = typeof pointers === 'string' ? [pointers] : (pointers ?? []);
  const readers = list.map(compilePointer);
  // A single pointer, by far the most frequent case, is called without indirection: once per field and record.
  return readers.length > 0
    ? readers.reduceRight((next, read) => (value) => read(value) ?? next(value))
    : () => null;
}

/** A pointer, or a path, without its last token. Empty if there is no slash. */
export function parentOf(pointer: string): string {
  return pointer.slice(0, Math.max(pointer.lastIndexOf('/'), 0));
}

/** Whether an entry has only pointers: no map, no format, no header. */
export function isPointers(entry: Pointers | object): entry is Pointers {
  return entry === null || typeof entry === 'string' || Array.isArray(entry);
}

/** The members of a part of the contract that are, or contain, pointers relative to a record. `apiKey` lists types. */
export function pointerMembers(part: object): readonly (readonly [string, unknown])[] {
  return Object.entries(part).filter(([name]) => name !== 'apiKey');
}
