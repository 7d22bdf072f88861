import fc from 'fast-check';
import { expect, it } from 'vitest';
import { REFUSALS, STYLES, startCursorTrail } from '../helpers/cursor-trail.ts';
import type { Order } from '../helpers/paged-trail.ts';

const RUNS = Number(process.env['EXPORT_RUNS'] ?? 60);

it('writes each event once in any history of runs, of events and of expired cursors', async () => {
  const STEP = fc.record({
    added: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 90 })),
    late: fc.array(fc.integer({ min: 0, max: 32 }), { maxLength: 2 }),
    hasExpired: fc.boolean(),
    /** Requests before the run is broken off. */
    requests: fc.option(fc.integer({ min: 0, max: 40 })),
  });
  const HISTORY = fc.record({
    order: fc.constantFrom<Order>('newest-first', 'oldest-first'),
    style: fc.constantFrom(...STYLES),
    refusal: fc.constantFrom(...Object.values(REFUSALS)),
    size: fc.integer({ min: 7, max: 12 }),
    count: fc.integer({ min: 34, max: 400 }),
    steps: fc.array(STEP, { minLength: 2, maxLength: 5 }),
  });
  await fc.assert(
    fc.asyncProperty(HISTORY, async ({ count, steps, ...options }) => {
      const { order, size } = options;
      await using trail = await startCursorTrail(count, options);
      const written: string[] = [];
      const isWhole = steps.every(({ requests }) => requests === null);
      const first = { added: 0, late: [], hasExpired: true, requests: null };
      for (const { added, late, hasExpired, requests } of [first, ...steps]) {
        // A late one is promised if ten pages have all that is known and what is new.
        const isRead = isWhole && 10 * size >= 64 + added + late.length;
        const isPromised = order === 'oldest-first' || isRead;
        if (isPromised) for (const newer of late) trail.addLate(newer);
        trail.add(added);
        const before = trail.seen.length;
        const isOver = () => requests !== null && trail.seen.length > before + requests;
        trail.intercept(() => (isOver() ? { status: 403 } : undefined));
        const { status, ids } = await trail.export({ keepsCursors: !hasExpired });
        written.push(...ids);
        if (isOver()) expect(status).not.toBe(0);
        else {
          expect(status).toBe(0);
          expect(written.toSorted()).toEqual(trail.ids().toSorted());
        }
      }
      trail.intercept(() => undefined);
      written.push(...(await trail.export()).ids);
      expect(written.toSorted()).toEqual(trail.ids().toSorted());
    }),
    {
      numRuns: RUNS,
      // An expired cursor of a next page leads to a page without records.
      examples: [
        [
          {
            ...{ order: 'newest-first', style: 'next-link', size: 7, count: 34 },
            refusal: { body: '{"events":[],"next":null}' },
            steps: [
              { added: 70, late: [], hasExpired: true, requests: 20 },
              { added: 0, late: [], hasExpired: false, requests: null },
            ],
          },
        ],
      ],
    },
  );
});
