import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ConfiguredContract } from '../../../src/gateway/mapping/contract.ts';
import { ask, gatewayOver } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

const READ =
  '{ audit(first: 100) { nodes { occurredAt action outcome actor { type } target { type } } } }';

type EventEntries = NonNullable<NonNullable<ConfiguredContract['audit']>['event']>;

type Data = { readonly audit: { readonly nodes: readonly Readonly<Record<string, unknown>>[] } };

/** Reads records through a gateway with some entries of `audit.event`. */
async function read(records: readonly unknown[], event: EventEntries) {
  await using service = await startService({ body: { items: records } });
  await using gateway = gatewayOver(service.url, {
    contract: { audit: { records: '/items', event } },
  });
  const { data } = await ask<Data, undefined>(gateway, READ, undefined, { token: 't' });
  const nodes = data?.audit.nodes ?? [];
  return { nodes, logged: gateway.logged.filter((line) => line.includes('contract')) };
}

describe('a map of a contract', () => {
  it('gives each value its outcome; a value that it lacks, null, an object and a list give null', async () => {
    const values = ['A', 'D', 'a', false, true, 0, 403, '', '-', null, { A: 1 }, ['A'], 'toString'];
    const { nodes } = await read(
      values.map((status) => ({ status })),
      {
        outcome: {
          at: '/status',
          map: {
            ...{ A: 'SUCCESS', D: 'FAILURE', false: 'SUCCESS', true: 'FAILURE' },
            ...{ 0: 'SUCCESS', 403: 'FAILURE', '': 'SUCCESS', '-': 'FAILURE' },
            ...{ null: 'SUCCESS', undefined: 'SUCCESS', '[object Object]': 'SUCCESS' },
          },
        },
      },
    );
    expect(nodes.map(({ outcome }) => outcome)).toEqual([
      ...['SUCCESS', 'FAILURE', null, 'SUCCESS', 'FAILURE', 'SUCCESS', 'FAILURE'],
      ...['SUCCESS', 'FAILURE', null, null, null, null],
    ]);
  });

  it('gives actions and types any text, and applies to the first pointer with a value', async () => {
    const { nodes } = await read(
      [
        { op: 'D', who: 1, what: 'K' },
        { op: null, verb: 'X', who: 2, what: 'S' },
      ],
      {
        action: { at: ['/op', '/verb'], map: { D: 'key.delete', X: 'Löschung' } },
        actor: { identifier: null, name: null, type: { at: '/who', map: { 1: 'user' } } },
        target: { identifier: null, name: null, type: { at: '/what', map: { K: 'API key' } } },
      },
    );
    expect(nodes).toMatchObject([
      { action: 'key.delete', actor: { type: 'user' }, target: { type: 'API key' } },
      { action: 'Löschung', actor: null, target: null },
    ]);
  });

  it('has own keys only, for any value', async () => {
    const inherited = Object.getOwnPropertyNames(Object.prototype);
    const value = fc.oneof(fc.constantFrom(...inherited, 'A'), fc.string(), fc.boolean());
    await fc.assert(
      fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 20 }), async (values) => {
        const { nodes } = await read(
          values.map((op) => ({ op })),
          { action: { at: '/op', map: { A: 'a' } } },
        );
        expect(nodes.map(({ action }) => action)).toEqual(
          values.map((text) => (text === 'A' ? 'a' : null)),
        );
      }),
      { numRuns: 20 },
    );
  });
});

describe('a time of a contract', () => {
  it.each([
    ['2026-06-01 12:00:00', { as: 'iso8601', zone: 'Europe/Berlin' }, '2026-06-01T10:00:00.000Z'],
    ['2026-06-01 12:00:00Z', { as: 'iso8601', zone: 'Europe/Berlin' }, '2026-06-01T12:00:00.000Z'],
    ['2026-03-29 02:30:00', { as: 'iso8601', zone: 'Europe/Berlin' }, null],
    ['2026-06-01 12:00:00', { as: 'iso8601' }, null],
    [
      '20260601120000',
      { as: { pattern: 'yyyyMMddHHmmss' }, zone: '+09:00' },
      '2026-06-01T03:00:00.000Z',
    ],
    [
      '2026/06/01 12.00 +0200',
      { as: { pattern: 'yyyy/MM/dd HH.mm Z' } },
      '2026-06-01T10:00:00.000Z',
    ],
    ['2026/06/01 12.00', { as: { pattern: 'yyyy/MM/dd HH.mm Z' } }, null],
  ] as const)('%j, %j, is %s', async (when, notation, instant) => {
    const { nodes } = await read([{ when }], { occurredAt: { at: '/when', ...notation } });
    expect(nodes).toMatchObject([{ occurredAt: instant }]);
  });

  it('is joined from several pointers, which must all have a value', async () => {
    const { nodes } = await read(
      [
        { date: '2026-06-01', time: '12:00:00' },
        { date: '2026-06-01', time: null },
        { time: '12:00:00' },
        { date: '2026-06-01', time: '25:00:00' },
      ],
      { occurredAt: { at: ['/date', '/time'], join: 'T', as: 'iso8601', zone: 'UTC' } },
    );
    expect(nodes.map(({ occurredAt }) => occurredAt)).toEqual([
      ...['2026-06-01T12:00:00.000Z', null, null, null],
    ]);
  });

  it('is null if the last part is missing, even if the others are a time', async () => {
    const { nodes } = await read(
      [
        { when: '2026-06-01T12:00:00', offset: '+02:00' },
        { when: '2026-06-01T12:00:00', offset: '' },
      ],
      { occurredAt: { at: ['/when', '/offset'], join: '', as: 'iso8601', zone: 'UTC' } },
    );
    expect(nodes).toMatchObject([{ occurredAt: '2026-06-01T10:00:00.000Z' }, { occurredAt: null }]);
  });

  it('is joined in the format of a pattern, from numbers too', async () => {
    const { nodes } = await read([{ day: 20_260_601, clock: 120_000 }], {
      occurredAt: {
        ...{ at: ['/day', '/clock'], join: ' ', zone: 'UTC' },
        as: { pattern: 'yyyyMMdd HHmmss' },
      },
    });
    expect(nodes).toMatchObject([{ occurredAt: '2026-06-01T12:00:00.000Z' }]);
  });
});

it('the log names an entry whose map, format or joined pointers match nothing', async () => {
  const record = { day: '2026-06-01', when: '2026-06-01 12:00:00', status: 'A' };
  const event: EventEntries = {
    occurredAt: { at: ['/day', '/clock', '/zone'], join: 'T', as: 'iso8601', zone: 'UTC' },
    action: { at: ['/op', '/verb'], map: { D: 'delete' } },
    outcome: { at: ['/result', '/status'], map: { D: 'FAILURE' } },
  };
  const { logged } = await read([record, record], event);
  expect(JSON.parse(logged[0] ?? '{}').responses).toEqual({
    'audit.event.occurredAt': 1,
    'audit.event.action': 1,
  });
});
