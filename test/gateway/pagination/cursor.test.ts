import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/errors.ts';
import { completeAudit } from '../../../src/gateway/inference/complete-contract.ts';
import { readAuditPage } from '../../../src/gateway/mapping/event.ts';
import {
  decodeCursor,
  encodeCursor,
  encodePageCursor,
} from '../../../src/gateway/pagination/cursor.ts';
import { findItem } from '../../../src/gateway/pagination/find-item.ts';

const record = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }).filter((value) => value !== null), // a null is no record
  fc.record({ id: fc.integer({ min: 0, max: 3 }) }),
  fc.record({ action: fc.constantFrom('a', 'b') }),
);

/** How a page after the first is requested. */
const TOKEN = fc.oneof(
  fc.record({ link: fc.string() }),
  fc.record({ parameter: fc.string(), value: fc.string() }),
  fc.record({
    parameter: fc.string(),
    value: fc.string(),
    preceding: fc.record(
      { pages: fc.nat(), records: fc.nat(), empty: fc.nat(), largest: fc.nat() },
      { requiredKeys: ['pages', 'records'] },
    ),
  }),
);

function read(body: unknown, isPartial = false) {
  const response = { status: 200, headers: {}, body, isPartial };
  return readAuditPage(completeAudit(response), response);
}

describe('a cursor', () => {
  it('finds its item in the same list, and after records were added at one end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { minLength: 1 }),
        fc.nat(),
        fc.array(record),
        async (records, at, arrived) => {
          const trail = read(records);
          const index = at % records.length;
          const cursor = encodeCursor({ page: trail, index, token: null, next: () => null });
          expect(await findItem(trail, decodeCursor(cursor))).toBe(index);
          const front = read([...arrived, ...records]);
          expect(await findItem(front, decodeCursor(cursor))).toBe(arrived.length + index);
        },
      ),
    );
  });

  it('of a partial response finds its item in the whole one, and after records were added at the start', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(record, { minLength: 1 }),
        fc.nat(),
        fc.array(record),
        fc.array(record),
        async (records, at, arrived, rest) => {
          const first = JSON.stringify(records[0]);
          fc.pre(arrived.every((one) => JSON.stringify(one) !== first));
          const index = at % records.length;
          const cursor = encodeCursor({
            ...{ page: read(records, true), index },
            ...{ token: null, next: () => null },
          });
          const whole = read([...arrived, ...records, ...rest]);
          expect(await findItem(whole, decodeCursor(cursor))).toBe(arrived.length + index);
        },
      ),
    );
  });

  it('of the last item of a page names the next page, with the total and the time of the item', () => {
    const walk = fc.record({ pages: fc.nat(), records: fc.nat(), print: fc.string() });
    const next = fc.oneof(
      TOKEN,
      fc.tuple(TOKEN, walk).map(([one, w]) => ({ ...one, walk: w })),
    );
    fc.assert(
      fc.property(
        fc.option(TOKEN),
        next,
        fc.option(fc.nat()),
        fc.option(fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) })),
        (token, following, total, date) => {
          const time = date?.toISOString() ?? null;
          const records = [{ id: 'a' }, { id: 'b', ...(time && { time }) }];
          const trail = read(total === null ? records : { records, total });
          const edge = { page: trail, token, next: () => following };
          const expected = { token: following, total: trail.total(), time };
          const last = decodeCursor(encodeCursor({ ...edge, index: 1 }));
          expect(last).toMatchObject({ index: 1, token, following: expected });
          expect(decodeCursor(encodeCursor({ ...edge, index: 0 }))).not.toHaveProperty('following');
          for (const none of [null, { missing: 'audit.paging.next' }, { isPartial: true } as const])
            expect(
              decodeCursor(encodeCursor({ ...edge, index: 1, next: () => none })),
            ).not.toHaveProperty('following');
        },
      ),
    );
  });

  it('of a page without records names that page', () => {
    fc.assert(
      fc.property(fc.option(TOKEN), fc.boolean(), (page, hasPrevious) => {
        const decoded = decodeCursor(encodePageCursor(page, hasPrevious));
        expect(decoded).toEqual({
          ...{ fingerprint: '', index: -1, origin: Number(hasPrevious), token: page },
        });
      }),
    );
  });

  it('that Keytrail did not issue is rejected', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json().map((text) => `1.${Buffer.from(text).toString('base64url')}`),
          fc
            .tuple(fc.constantFrom(-2, -1, 0, 0.5, 2 ** 53), fc.integer({ min: -3, max: -1 }))
            .map(([index, origin]) => JSON.stringify(['f', index, origin]))
            .map((text) => `1.${Buffer.from(text).toString('base64url')}`),
        ),
        (text) => {
          expect(() => decodeCursor(text)).toThrow(GatewayError);
        },
      ),
    );
  });

  it('of another version is rejected with a message that says so', () => {
    const position = Buffer.from('["a",0,1]').toString('base64url');
    expect(decodeCursor(`1.${position}`)).toMatchObject({ index: 0 });
    for (const version of ['0', '2', '12'])
      expect(() => decodeCursor(`${version}.${position}`)).toThrow(
        /is a cursor of another version of Keytrail: start again/,
      );
    for (const text of [position, `.${position}`, `x.${position}`, `3.${position}.`, '1.', '2'])
      expect(() => decodeCursor(text)).toThrow(/is not a cursor/);
  });
});
