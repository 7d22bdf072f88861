import type { UpstreamResponse } from '../../util/upstream-response.ts';
import type { Source } from './contract.ts';
import { compilePointer, compilePointers } from './json-pointer.ts';
import type { Range } from './page-evidence.ts';

/** Reads a field or a header of a response; null if there is none. Of a repeated header, reads the first. */
export function readSource(source: Source, response: UpstreamResponse): unknown {
  const { body } = response;
  if (source === null) return null;
  if (typeof source === 'string') return compilePointer(source)(body) ?? null;
  if (!('header' in source)) return compilePointers(source)(body) ?? null;
  return readHeader(source.header, response) ?? null;
}

/** Whether a response has no such field or header, not even one that is null. */
export function isAbsent(source: Source, response: UpstreamResponse): boolean {
  const { body } = response;
  if (source === null) return true;
  if (typeof source === 'string' || !('header' in source))
    return compilePointers(source)(body) === undefined;
  return readHeader(source.header, response) === undefined;
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

/** A link with its parameters, and one of these (RFC 8288, section 3). */
const PARAMETER = /;\s*([\w*!-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",;]+))/;
const LINK = new RegExp(`<([^>]*)>((?:\\s*${PARAMETER.source})*)`, 'g');

/** The first link whose relation types include `next`. */
export function readLinkHeader(header: string | readonly string[] | undefined): string | null {
  if (header === undefined) return null;
  for (const [, link = '', parameters = ''] of [header].flat().join(', ').matchAll(LINK)) {
    for (const [, name, quoted, token = ''] of parameters.matchAll(new RegExp(PARAMETER, 'g'))) {
      const relations = (quoted ?? token).toLowerCase().split(/\s+/);
      if (name?.toLowerCase() === 'rel' && relations.includes('next')) return link;
    }
  }
  return null;
}
