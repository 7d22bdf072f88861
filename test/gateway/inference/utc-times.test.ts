import { describe, expect, it } from 'vitest';
import { ask, gatewayOver } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

const READ = '{ audit(first: 100) { nodes { occurredAt } } }';

type Data = {
  readonly audit: { readonly nodes: readonly { readonly occurredAt: string | null }[] };
};

/** The times of some records, read without a contract. */
async function timesOf(records: readonly unknown[]) {
  await using service = await startService({ body: { events: records } });
  await using gateway = gatewayOver(service.url);
  const { data } = await ask<Data, undefined>(gateway, READ, undefined, { token: 't' });
  return data?.audit.nodes.map(({ occurredAt }) => occurredAt);
}

const LOCAL = '2026-11-20 16:05:00';
const INSTANT = '2026-11-20T16:05:00.000Z';

describe('a time without a zone', () => {
  it.each(['occurred_at_utc', 'timeGMT', 'date_gmt', 'utcTimestamp', 'createdAtUtc', 'time (UTC)'])(
    'is in UTC if its name says so: %s',
    async (name) => {
      expect(await timesOf([{ [name]: LOCAL, action: 'x' }])).toEqual([INSTANT]);
      expect(await timesOf([{ [name]: '2026-11-20T16:05', action: 'x' }])).toEqual([INSTANT]);
    },
  );

  it.each(['time', 'occurred_at', 'gmtCreate', 'time_local', 'updated_at_utc', 'expires_utc'])(
    'is null if its name does not say so, or names another time: %s',
    async (name) => {
      expect(await timesOf([{ [name]: LOCAL, action: 'x' }])).toEqual([null]);
    },
  );

  it('whose name says UTC comes before a time with a zone and a weaker name', async () => {
    const records = [{ ingested_at: '2026-11-20T16:07:00Z', occurred_at_utc: LOCAL }];
    expect(await timesOf(records)).toEqual([INSTANT]);
  });

  it('whose name says UTC keeps its own zone if it has one', async () => {
    const records = [
      { time_utc: LOCAL },
      { time_utc: '2026-11-20T17:05:00+01:00' },
      { time_utc: LOCAL },
    ];
    expect(await timesOf(records)).toEqual([INSTANT, INSTANT, INSTANT]);
  });

  it.each([
    ['2026-11-20T17:05:00.250+01:00', 'updated_at'],
    ['Fri, 20 Nov 2026 16:05:00 GMT', 'modified'],
    [1_795_190_700, 'updatedEpoch'],
  ])('is in UTC if another field is the same instant: %s', async (value, name) => {
    const other = { when: '2026-11-20 16:06:00', [name]: null };
    expect(await timesOf([{ when: LOCAL, [name]: value }, other])).toEqual([
      ...[INSTANT, '2026-11-20T16:06:00.000Z'],
    ]);
  });

  it('is null if another field is the same instant in one record only, or an hour away', async () => {
    const same = { when: LOCAL, updated_at: INSTANT };
    const later = { when: LOCAL, updated_at: '2026-11-20T17:05:00Z' };
    expect(await timesOf([same, later])).toEqual([null, null]);
    expect(await timesOf([later])).toEqual([null]);
  });

  it('is null if no record has both', async () => {
    expect(await timesOf([{ when: LOCAL }, { updated_at: INSTANT }])).toEqual([null, null]);
  });

  it('is null if another field is the same, but has no zone', async () => {
    expect(await timesOf([{ when: LOCAL, updated_at: LOCAL }])).toEqual([null]);
  });

  it('stays null in another format: day and month may be in either order', async () => {
    expect(await timesOf([{ time_utc: '09/07/2026 16:05:00' }])).toEqual([null]);
  });
});
