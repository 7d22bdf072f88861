import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { completeAudit } from '../../../src/gateway/inference/complete-contract.ts';
import { readAuditPage } from '../../../src/gateway/mapping/event.ts';
import { identityText } from '../../../src/gateway/mapping/identity-text.ts';
import type { PageToken } from '../../../src/gateway/mapping/next-page.ts';
import type { Instant } from '../../../src/gateway/mapping/time.ts';
import { DIGEST_LENGTH } from '../../../src/gateway/pagination/find-item.ts';
import {
  type Checkpoint,
  decodeCheckpoint,
  encodeCheckpoint,
  MAX_KNOWN,
} from '../../../src/gateway/tail/checkpoint.ts';
import { pollTail } from '../../../src/gateway/tail/poll-tail.ts';
import { digest } from '../../../src/util/digest.ts';
import { record } from '../../helpers/live-trail.ts';

const OPTIONS = { order: null, since: null, isSinceForwarded: false, selection: '' } as const;

const range = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** Polls a trail that begins with its oldest record and has few records per page. */
async function poll(numbers: readonly number[], checkpoint: Checkpoint | null, size = 1) {
  const contract = { paging: { style: 'page', parameter: 'page', start: 1 } } as const;
  const fetchPage = async (token: PageToken | null) => {
    const page = token !== null && 'value' in token ? Number(token.value) : 1;
    const body = {
      events: numbers.slice((page - 1) * size, page * size).map((number) => record(number)),
      total: numbers.length,
    };
    const response = { status: 200, headers: {}, body };
    return readAuditPage(completeAudit(response, { audit: contract }), response, {
      token,
      parameters: [],
    });
  };
  const found = await pollTail(fetchPage, { ...OPTIONS, checkpoint });
  const next = decodeCheckpoint(encodeCheckpoint(found.checkpointAfter(found.events.length)));
  return { ...found, next, ids: found.events.map(({ event }) => event.id) };
}

it('a poll that is behind knows all records that it has read, however many older ones were known', async () => {
  let numbers = range(1, 9);
  let { next } = await poll(numbers, null);
  numbers = range(1, 60);
  let isBehind = true;
  const delivered: (string | null)[] = [];
  while (isBehind && delivered.length < 40) {
    const found = await poll(numbers, next);
    delivered.push(...found.ids);
    ({ next, isBehind } = found);
  }
  // Two late ones, of which the first moves the record before the second into the pages of the next poll.
  const newest = 9 + delivered.length;
  const [before, after] = [range(1, newest - 7), range(newest - 5, 60)];
  numbers = [...before, 2000, newest - 6, 1000, ...after];
  const { ids } = await poll(numbers, next);
  expect(ids[0]).toBe('r1000');
});

it('a poll that finds no known record where it begins goes on from the first page, and misses nothing', async () => {
  const { next: before } = await poll(range(1, 65), null, 7);
  const numbers = range(38, 140); // the known ones have moved to pages before those that are polled
  const first = await poll(numbers, before, 7);
  expect(first).toMatchObject({ ids: [], missed: false, isBehind: true });
  expect(first.next.known).toEqual(before.known);
  const delivered: (string | null)[] = [];
  for (let at = first; at.isBehind && delivered.length < 100; ) {
    at = await poll(numbers, at.next, 7);
    expect(at.missed).toBe(false);
    delivered.push(...at.ids);
  }
  expect(delivered).toEqual(range(66, 140).map((number) => `r${number}`));
});

it('a poll that knows no record reads all that the list has', async () => {
  const none = { known: [], isWhole: false, start: null, selection: '' } as const;
  const newestFirst = range(1, 250).toReversed();
  const { ids } = await poll(newestFirst, { ...none, order: 'newest-first' }, 250);
  expect(ids).toEqual(range(1, 250).map((number) => `r${number}`));
});

describe('the checkpoints of a poll', () => {
  /** A trail in one page, with the newest first. Records without a time are not after any instant. */
  async function read(times: readonly (number | null)[], since: number) {
    const body = times.map((time, index) => ({
      id: `r${index}`,
      time: time === null ? '-' : new Date(Date.UTC(2026, 0) + 1000 * time).toISOString(),
      action: 'a',
    }));
    const response = { status: 200, headers: {}, body };
    const contract = { event: { occurredAt: '/time' } };
    const page = readAuditPage(completeAudit(response, { audit: contract }), response);
    const options = { ...OPTIONS, order: 'newest-first', checkpoint: null } as const;
    const from = new Date(Date.UTC(2026, 0) + 1000 * since).toISOString() as Instant; // has its format
    return pollTail(async () => page, { ...options, since: from });
  }

  it('know the newest 64 of the records that are older than what is left, after each event', async () => {
    const times = fc.array(fc.option(fc.integer({ min: 0, max: 9 })), { maxLength: 150 });
    await fc.assert(
      fc.asyncProperty(times, fc.nat(9), fc.nat(200), async (list, since, at) => {
        const { events, checkpointAfter } = await read(list, since);
        const count = Math.min(at, events.length);
        // The filter drops what is not from `since` on.
        const indices = [...list.keys()];
        expect(events.map(({ event }) => event.id)).toEqual(
          indices.toReversed().map((index) => `r${index}`),
        );
        const known = indices.slice(list.length - count);
        const digests = known.slice(0, MAX_KNOWN).map((index) => {
          const time = list[index];
          const text = time == null ? '-' : new Date(Date.UTC(2026, 0) + 1000 * time).toISOString();
          const raw = { id: `r${index}`, time: text, action: 'a' };
          return digest(identityText({ id: raw.id, raw }), DIGEST_LENGTH);
        });
        expect(checkpointAfter(count).known).toEqual(digests);
        expect(checkpointAfter(count).isWhole).toBe(known.length <= MAX_KNOWN);
      }),
      { numRuns: 300 },
    );
  });

  it('are found at the cost of 64 records each, however many events there are', async () => {
    const { events, checkpointAfter } = await read(range(0, 19_999).toReversed(), 0);
    expect(events).toHaveLength(20_000);
    for (const count of events.keys()) expect(checkpointAfter(count).known.length).toBeLessThan(65);
  });
});
