import type { UpstreamResponse } from '../upstream/types.ts';
import type { Pointers, Range, Source } from './contract.ts';
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
export function isAbsent(source: Source, response: UpstreamResponse): boolean {
  const { body } = response;
  if (source === null) return true;
  if (typeof source === 'string' || !('header' in source))
    return compilePointers(source)(body) === undefined;
  return readHeader(source.header, response) === undefined;
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
export function readSource(source: Source, response: UpstreamResponse): unknown {
  const { body } = response;
  if (source === null) return null;
  if (typeof source === 'string') return compilePointer(source)(body) ?? null;
  if (!('header' in source)) return compilePointers(source)(body) ?? null;
  return readHeader(source.header, response) ?? null;
}

/** Where the total of a `content-range` is. */
export const CONTENT_RANGE = { header: 'content-range' } as const;

/** The first value of a header. A slash begins a pointer into its JSON: `x-pagination/total`. */
function readHeader(source: string, { headers }: UpstreamResponse): unknown {
  const [name = '', ...tokens] = source.split('/');
  const [value] = [headers[name.toLowerCase()]].flat();
  if (name.toLowerCase() === CONTENT_RANGE.header) return readRange(headers)?.total;
  return tokens.length === 0 || value === undefined
    ? value
    : compilePointer(`/${tokens.join('/')}`)(parseHeader(value));
}

/** Parses a header that holds JSON; null for any other. */
export function parseHeader(value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    return null;
  }
}

/** `items 0-2/9`, and what services make of it (RFC 9110, section 14.4): without a unit, or with unknown numbers. */
const RANGE = /^(?!bytes)(?:[\w-]+(?: +|=))?(?:(\d+) *- *(\d+)|\*) *\/ *(?:(\d+)|\*)$/i;

/** Reads the range of records that a response says it is; null without one, or for one of bytes. */
export function readRange({ 'content-range': header }: UpstreamResponse['headers']): Range | null {
  if (header === undefined) return null;
  const match = RANGE.exec(String([header].flat()[0]).trim());
  if (match === null) return null;
  const [, start = 0, last = -1, total] = match;
  return {
    start: Number(start),
    end: Number(last) + 1,
    total: total === undefined ? null : Number(total),
  };
}
