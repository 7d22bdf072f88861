import type { UpstreamResponse } from '../upstream/types.ts';
import type { Pointers, Source } from './contract.ts';
import { compilePointer, type PointerReader } from './json-pointer.ts';

/** Compiles pointers into a function that reads the first value other than null; null or `undefined` without one. */
export function compilePointers(pointers: Pointers): PointerReader {
  const list = typeof pointers === 'string' ? [pointers] : (pointers ?? []);
  const readers = list.map(compilePointer);
  // A single pointer, by far the most frequent case, is called without indirection: once per field and record.
  return readers.length > 0
    ? readers.reduceRight((next, read) => (value) => read(value) ?? next(value))
    : () => null;
}

/** Whether a response has no such field or header, not even one that is null. */
export function isAbsent(source: Source, { headers, body }: UpstreamResponse): boolean {
  if (source === null) return true;
  if (typeof source === 'string' || !('header' in source))
    return compilePointers(source)(body) === undefined;
  return headers[source.header.toLowerCase()] === undefined;
}

/** Whether an entry has only pointers: no map, no format, no header. */
export function isPointers(entry: Pointers | object): entry is Pointers {
  return entry === null || typeof entry === 'string' || Array.isArray(entry);
}

/** The members of a part of the contract that are, or contain, pointers relative to a record. `apiKey` lists types. */
export function pointerMembers(part: object): readonly (readonly [string, unknown])[] {
  return Object.entries(part).filter(([name]) => name !== 'apiKey');
}

/** Reads a field or a header of a response; null if there is none. Of a repeated header, reads the first. */
export function readSource(source: Source, { headers, body }: UpstreamResponse): unknown {
  if (source === null) return null;
  if (typeof source === 'string') return compilePointer(source)(body) ?? null;
  if (!('header' in source)) return compilePointers(source)(body) ?? null;
  return [headers[source.header.toLowerCase()]].flat()[0] ?? null;
}
