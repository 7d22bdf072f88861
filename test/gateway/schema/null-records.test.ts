import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AuditDocument } from '../../../src/client/operations.generated.ts';
import type { ConfiguredContract } from '../../../src/gateway/mapping/contract.ts';
import { ask, codeOf, gatewayOver } from '../../helpers/gateway.ts';
import { startLiveTrail } from '../../helpers/live-trail.ts';
import { type ServiceResponse, startService } from '../../helpers/service.ts';
import { subscribe } from '../../helpers/subscribe.ts';

const record = (number: number) => ({
  id: `r${number}`,
  time: `2026-11-24T00:00:${String(number % 60).padStart(2, '0')}Z`,
  action: 'login',
});

const [A, B] = [record(1), record(2)];
const RAW = { withRaw: true };

async function read(body: unknown, contract: ConfiguredContract = {}, variables: object = {}) {
  await using service = await startService({ body });
  await using gateway = gatewayOver(service.url, { contract });
  return await ask(gateway, AuditDocument, { ...RAW, ...variables }, { token: 't' });
}

type Read = Awaited<ReturnType<typeof read>>;
const idsOf = ({ data, text }: Read) => data?.audit?.nodes.map(({ id }) => id) ?? text;

describe('a null in a list', () => {
  it.each<[string, unknown, ConfiguredContract?]>([
    ['in an envelope', { data: [A, null, B] }],
    ['at the top', [A, null, B]],
    ['at its start', { events: [null, null, A, B] }],
    ['at its end', { events: [A, B, null] }],
    ['sixty at its start', { events: [...Array(60).fill(null), A, null, B], links: [{ a: 1 }] }],
    ['in a list of an unknown name', { things: [A, null, B] }],
    ['two objects deep', { result: { logs: [null, A, null, B, null] } }],
    ['of which the contract has the place', { x: [A, null, B] }, { audit: { records: '/x' } }],
    [
      'in one of several groups',
      { x: [{ y: [A, null] }, { y: [null, B] }] },
      { audit: { records: '/x/*/y' } },
    ],
    ['in an object with numbered keys', { data: { 1: A, 2: null, 3: B } }],
    [
      'in an object whose members are records',
      { x: { a: A, b: null, c: B } },
      { audit: { records: '/x' } },
    ],
    ['beside its number', { data: [A, null, B], count: 3 }],
    ['beside a total that counts it', { data: [A, null, B], total: 3 }],
    ['beside a total that does not', { data: [A, null, B], total: 2 }],
  ])('is skipped: %s', async (_, body, contract) => {
    const result = await read(body, contract);
    expect(idsOf(result)).toEqual(['r1', 'r2']);
    expect(result.data?.audit?.totalCount).toBe(2);
    expect(result.data?.audit?.pageInfo.hasNextPage).toBe(false);
  });

  it.each([
    ['two', { data: [null, null] }],
    ['one at the top', [null]],
  ])('alone is no record: %s', async (_, body) => {
    const { data } = await read(body);
    expect(data?.audit).toMatchObject({ nodes: [], totalCount: 0 });
  });

  it('does not hide an error beside it', async () => {
    const result = await read({ data: [null], error: 'denied' });
    expect(result.data?.audit).toBeNull();
    expect(codeOf(result)).toBe('UPSTREAM_ERROR');
  });

  it.each([
    ['a text', { data: [A, 'x', B] }],
    ['a number', { data: [A, 0, B] }],
    ['false', { data: [A, false, B] }],
    ['a list', { data: [A, [], B] }],
  ])('is nothing else: %s is no null', async (_, body) => {
    const result = await read(body);
    expect(result.errors?.[0]?.extensions.reason).toBe('NO_RECORDS');
  });

  it('anywhere in a list changes nothing else', async () => {
    let body: unknown;
    await using service = await startService(() => ({ body }));
    await using gateway = gatewayOver(service.url);
    const item = fc.option(fc.nat(99), { nil: null, freq: 2 });
    const wrap = fc.constantFrom<(list: unknown) => unknown>(
      (list) => list,
      (data) => ({ data }),
      (logs) => ({ result: { logs }, ok: true }),
      (events) => ({ events, page: 1 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(item, { maxLength: 70 }), wrap, async (items, toBody) => {
        const list = items.map((number) => (number === null ? null : record(number)));
        const audit = async (records: readonly unknown[]) => {
          body = toBody(records);
          const { data, text } = await ask(gateway, AuditDocument, RAW, { token: 't' });
          return data?.audit ? { ...data.audit, pageInfo: {} } : text;
        };
        expect(await audit(list)).toEqual(await audit(list.filter((one) => one !== null)));
      }),
      { numRuns: 60 },
    );
  });
});

describe('pages with nulls', () => {
  const ALL = Array.from({ length: 60 }, (_, index) => (index % 7 === 3 ? null : record(index)));
  const IDS = ALL.flatMap((one) => (one === null ? [] : [one.id]));
  const slice = (from: number) => ALL.slice(from, from + 10);
  const paging = (entry: object): ConfiguredContract => ({ audit: { paging: Object(entry) } });

  const STYLES: Readonly<
    Record<string, readonly [ConfiguredContract, (query: URLSearchParams) => ServiceResponse]>
  > = {
    'an offset and a total': [
      paging({ style: 'offset', parameter: 'offset' }),
      (query) => ({ body: { data: slice(Number(query.get('offset'))), total: ALL.length } }),
    ],
    'an offset': [
      paging({ style: 'offset', parameter: 'offset' }),
      (query) => ({ body: slice(Number(query.get('offset'))) }),
    ],
    'a page number and a number of pages': [
      paging({ style: 'page', parameter: 'page' }),
      (query) => {
        const page = Number(query.get('page') ?? 1);
        return { body: { data: slice(10 * (page - 1)), page, pages: 6 } };
      },
    ],
    'a page number and a total': [
      paging({ style: 'page', parameter: 'page', start: 1 }),
      (query) => {
        const page = Number(query.get('page') ?? 1);
        return { body: { data: slice(10 * (page - 1)), total: ALL.length } };
      },
    ],
    'a cursor that becomes 0 at the end': [
      paging({ style: 'cursor', next: '/next', parameter: 'cursor' }),
      (query) => {
        const from = Number(query.get('cursor'));
        const next = from + 10 < ALL.length ? from + 10 : 0;
        return { body: { data: slice(from), next, total: ALL.length } };
      },
    ],
    'the last ID': [
      paging({ style: 'last-id', parameter: 'after' }),
      (query) => {
        const after = query.get('after');
        return { body: slice(1 + ALL.findIndex((one) => one?.id === after)) };
      },
    ],
    'the last value': [
      paging({ style: 'last-value', last: '/id', parameter: 'after' }),
      (query) => {
        const after = query.get('after');
        return { body: slice(1 + ALL.findIndex((one) => one?.id === after)) };
      },
    ],
  };

  it.each(Object.keys(STYLES))('are read to the end, each record once: %s', async (style) => {
    const [contract, respond] = STYLES[style] ?? [];
    await using service = await startService(
      ({ url }) => respond?.(new URL(url, 'http://service.test').searchParams) ?? {},
    );
    await using gateway = gatewayOver(service.url, contract && { contract });
    for (const first of [50, 7]) {
      const found: unknown[] = [];
      let after: string | null = null;
      for (;;) {
        const variables: object = { first, after, ...RAW };
        const { data, text } = await ask(gateway, AuditDocument, variables, { token: 't' });
        if (!data?.audit) throw new Error(text);
        found.push(...data.audit.nodes.map(({ id }) => id));
        if (!data.audit.pageInfo.hasNextPage) break;
        after = data.audit.pageInfo.endCursor;
      }
      expect(found).toEqual(IDS);
    }
  });

  it('of nulls alone do not end a list whose service counts them', async () => {
    const list = [...ALL.slice(0, 10), ...Array(10).fill(null), ...ALL.slice(20, 40)];
    await using service = await startService(({ url }) => {
      const offset = Number(new URL(url, 'http://service.test').searchParams.get('offset'));
      return { body: list.slice(offset, offset + 10) };
    });
    const contract = paging({ style: 'offset', parameter: 'offset' });
    await using gateway = gatewayOver(service.url, { contract });
    const { data } = await ask(gateway, AuditDocument, { first: 50, ...RAW }, { token: 't' });
    const expected = list.flatMap((one) => (one === null ? [] : [one.id]));
    expect(data?.audit?.nodes.map(({ id }) => id)).toEqual(expected);
  });

  it('of nulls alone have no last ID: one like those before is no end of the list', async () => {
    const list = [...ALL.slice(0, 10), ...Array(10).fill(null)];
    const pageAfter = (url: string) => {
      const after = new URL(url, 'http://service.test').searchParams.get('after');
      return list.slice(1 + list.findIndex((one) => one?.id === after)).slice(0, 9);
    };
    await using service = await startService(({ url }) => ({ body: pageAfter(url) }));
    const contract = paging({ style: 'last-id', parameter: 'after' });
    await using gateway = gatewayOver(service.url, { contract });
    const variables = { first: 9, ...RAW };
    const { data } = await ask(gateway, AuditDocument, variables, { token: 't' });
    const after = data?.audit?.pageInfo.endCursor;
    const next = await ask(gateway, AuditDocument, { ...variables, after }, { token: 't' });
    expect(next.errors?.[0]?.extensions.reason).toBe('PAGING_UNKNOWN');
  });

  it('are counted where a large response is read to the records that are needed', async () => {
    const filler = 'x'.repeat(900);
    const long = Array.from({ length: 2000 }, (_, index) =>
      index % 2 === 0 ? null : { ...record(index), filler },
    );
    await using service = await startService({ body: { data: long } });
    await using gateway = gatewayOver(service.url, { upstream: { maxBytes: 2 ** 24 } });
    const query = '{ audit(first: 60) { nodes { id } pageInfo { hasNextPage } } }';
    const { data } = await ask<{ audit: { nodes: { id: string }[] } }, object>(
      ...([gateway, query, {}, { token: 't' }] as const),
    );
    expect(data?.audit.nodes.map(({ id }) => id)).toEqual(
      Array.from({ length: 60 }, (_, index) => `r${2 * index + 1}`),
    );
  });

  it('reach a stream without them', async () => {
    await using live = await startLiveTrail();
    live.respond({ body: { data: [null, B, null, A] } });
    await using stream = await subscribe(live.gateway);
    expect((await stream.nextBatch()).nodes).toEqual([]);
    await live.pauses.paused();
    live.respond({ body: { data: [null, record(3), B, null, A, null] } });
    live.pauses.resume();
    expect((await stream.nextBatch()).nodes).toEqual([{ id: 'r3' }]);
  });
});

describe('explain', () => {
  it.each([
    [{ data: [A, null, null, B] }, { at: '/data', by: 'inference', nulls: 2 }],
    [{ data: [null] }, { at: '/data', by: 'inference', nulls: 1 }],
    [{ data: [A, B] }, { at: '/data', by: 'inference' }],
  ])('counts the nulls of %j', async (body, records) => {
    await using service = await startService({ body });
    await using gateway = gatewayOver(service.url);
    const headers = { 'x-keytrail-explain': '1' };
    const query = '{ audit { nodes { id } } }';
    const { text } = await ask(gateway, query, {}, { token: 't', headers });
    expect(JSON.parse(text).extensions.explain.mapping.records).toEqual(records);
  });
});
