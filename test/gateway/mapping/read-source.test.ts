import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readRange, readSource } from '../../../src/gateway/mapping/read-source.ts';

describe('a content-range (RFC 9110, section 14.4)', () => {
  it('is read with any unit of records, with or without numbers', () => {
    const unit = fc.constantFrom('', 'items ', 'records=', 'audit-events ');
    const total = fc.option(fc.nat());
    fc.assert(
      fc.property(unit, fc.nat(), fc.nat(), total, (prefix, start, width, count) => {
        const header = `${prefix}${start}-${start + width}/${count ?? '*'}`;
        const range = { start, end: start + width + 1, total: count };
        expect(readRange({ 'content-range': header })).toEqual(range);
        const response = { status: 200, headers: { 'content-range': [header, 'x'] }, body: null };
        const read = readSource({ header: 'Content-Range' }, response);
        expect(read).toBe(count);
      }),
    );
  });

  it.each(['bytes 0-2/9', 'Bytes 0-2/9', 'items', '0-2', 'id a..b; max=3', '-1-2/9', ''])(
    'is none of records: %j',
    (header) => {
      expect(readRange({ 'content-range': header })).toBeNull();
    },
  );

  it('of any text does not throw', () => {
    fc.assert(fc.property(fc.string(), (text) => void readRange({ 'content-range': text })));
  });
});

describe('a member of a header that holds JSON', () => {
  it('is found with a pointer, whatever its key', () => {
    fc.assert(
      fc.property(fc.string(), fc.jsonValue(), (key, value) => {
        const headers = { 'x-pagination': JSON.stringify({ [key]: value }) };
        const pointer = key.replaceAll('~', '~0').replaceAll('/', '~1');
        const source = { header: `X-Pagination/${pointer}` };
        const found = readSource(source, { status: 200, headers, body: null });
        expect(found).toEqual(JSON.parse(JSON.stringify(value ?? null)));
      }),
    );
  });

  it('of any text does not throw', () => {
    const read = (text: string) =>
      readSource({ header: 'a/b' }, { status: 200, headers: { a: text }, body: null });
    fc.assert(fc.property(fc.string(), (text) => void read(text)));
  });
});
