import { expect, it } from 'vitest';
import { completeAudit } from '../../src/inference/complete-contract.ts';
import { readAuditPage } from '../../src/mapping/audit-page.ts';
import type { PageToken } from '../../src/mapping/next-page.ts';
import {
  type Checkpoint,
  decodeCheckpoint,
  encodeCheckpoint,
} from '../../src/pagination/checkpoint.ts';
import { pollTail } from '../../src/pagination/poll-tail.ts';
import { record } from '../helpers/live-trail.ts';

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
    return readAuditPage(completeAudit(response, contract), response, { token, parameters: [] });
  };
  const found = await pollTail(fetchPage, { ...OPTIONS, checkpoint });
  const next = decodeCheckpoint(encodeCheckpoint(found.checkpointAfter(found.events.length)));
  return { ...found, next, ids: found.events.map(({ id }) => id) };
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

it('a poll that is behind after a gap goes on from there, and delivers no record again', async () => {
  const { next: before } = await poll(range(1, 65), null, 7);
  const numbers = range(38, 140); // the known ones have moved to pages before those that are polled
  const first = await poll(numbers, before, 7);
  const second = await poll(numbers, first.next, 7);
  expect([first.missed, second.missed]).toEqual([true, false]);
  expect([first.isBehind, second.isBehind]).toEqual([true, false]);
  expect([...first.ids, ...second.ids]).toEqual(range(66, 140).map((number) => `r${number}`));
});

it('a poll that knows no record reads all that the list has', async () => {
  const none = { known: [], isWhole: false, start: null, selection: '' } as const;
  const newestFirst = range(1, 250).toReversed();
  const { ids } = await poll(newestFirst, { ...none, order: 'newest-first' }, 250);
  expect(ids).toEqual(range(1, 250).map((number) => `r${number}`));
});
