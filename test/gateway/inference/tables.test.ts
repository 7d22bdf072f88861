import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AuditDocument } from '../../../src/client/operations.generated.ts';
import type { ConfiguredContract } from '../../../src/gateway/mapping/contract.ts';
import { ask, codeOf, gatewayOver } from '../../helpers/gateway.ts';
import { keytrailInProcess } from '../../helpers/process.ts';
import { startService } from '../../helpers/service.ts';

const ROWS = 3;

/** Names of columns, the entry that each is, and the values of a row. */
const COLUMNS = [
  [['event_id', 'id'], 'id', (row: number) => `evt-90${row}`],
  [
    ['time', 'timestamp', 'created_at'],
    'occurredAt',
    (row: number) => `2026-03-0${row + 1}T08:00:00.000Z`,
  ],
  [['action', 'event_type'], 'action', (row: number) => ['key.delete', 'key.create', 'login'][row]],
  [['user_id', 'actor_id'], 'actor.identifier', (row: number) => `u-${row}`],
  [['ip_address', 'source_ip'], 'ipAddress', (row: number) => `203.0.113.${row + 1}`],
  [['duration', 'qzx'], null, (row: number) => 17 * row],
] as const;

/** A table, and the values of each row by entry. */
const table = fc
  .record({
    columns: fc.shuffledSubarray([...COLUMNS], { minLength: 6 }),
    pick: fc.nat(5),
    names: fc.constantFrom('fields', 'columns', 'headers', 'schema'),
    rows: fc.constantFrom('data', 'rows', 'values', 'result'),
    areObjects: fc.boolean(),
    wrap: fc.constantFrom<((body: object) => unknown)[]>(
      (body) => body,
      (body) => ({ data: body }),
      (body) => ({ results: [body], status: 'ok' }),
      (body) => ({ command: 'select', type: 'select', ...body, time: '2026-03-09T08:00:00Z' }),
    ),
  })
  .map(({ columns, pick, names, rows, areObjects, wrap }) => {
    const titles = columns.map(([all]) => all[pick % all.length] ?? all[0]);
    const values = Array.from({ length: ROWS }, (_, row) => columns.map(([, , of]) => of(row)));
    const body = wrap({
      [names]: areObjects ? titles.map((name) => ({ name, type: 'text' })) : titles,
      [rows]: values,
    });
    return { body, entries: columns.map(([, entry]) => entry), values };
  });

async function readWith(body: unknown, contract: ConfiguredContract) {
  await using service = await startService({ body });
  await using gateway = gatewayOver(service.url, { contract });
  return await ask(gateway, AuditDocument, { first: 10 }, { token: 't' });
}

/** The first contract that learn prints for a response. */
async function learn(body: unknown): Promise<ConfiguredContract> {
  const folder = await mkdtemp(join(tmpdir(), 'keytrail-table-'));
  try {
    const file = join(folder, 'response.json');
    await writeFile(file, JSON.stringify(body));
    await using learning = keytrailInProcess(['learn', '--from', file]);
    expect(await learning.status).toBe(2);
    const [, line = ''] = /^ {4}(\{"audit".*\})$/m.exec(learning.output.stderr) ?? [];
    return JSON.parse(line);
  } finally {
    await rm(folder, { recursive: true });
  }
}

describe('a response that is a table, with names in one list and values in rows', () => {
  it('is refused, and read right with the contract that learn prints', async () => {
    await fc.assert(
      fc.asyncProperty(table, async ({ body, entries, values }) => {
        const refused = await readWith(body, {});
        expect(codeOf(refused)).toBe('UPSTREAM_BAD_RESPONSE');
        expect(refused.text).toContain('is a table');
        const { data } = await readWith(body, await learn(body));
        const nodes = data?.audit?.nodes ?? [];
        expect(nodes).toHaveLength(ROWS);
        for (const [row, node] of nodes.entries())
          for (const [column, entry] of entries.entries())
            if (entry !== null) {
              const [member = '', part] = entry.split('.');
              const found: unknown = Reflect.get(node ?? {}, member);
              const value = part === undefined ? found : Reflect.get(Object(found), part);
              expect(value, `${entry} of ${JSON.stringify(body)}`).toBe(values[row]?.[column]);
            }
      }),
      { numRuns: 40 },
    );
  });

  it.each([
    [40, 'is a table'],
    [60, 'finds no list of records'],
  ])(
    'is looked for among the first 5,000 objects of a body: with %i times 100 before it, the message %s',
    async (count, message) => {
      const objects = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`k${at}`, {}]));
      const before = Array.from({ length: count }, (_, at) => [`m${at}`, objects] as const);
      const rows = { fields: ['time', 'user'], data: [['2026-03-01T08:00:00Z', 'ann']] };
      const body = { ...Object.fromEntries(before), last: { of: rows } };
      const refused = await readWith(body, {});
      expect(codeOf(refused)).toBe('UPSTREAM_BAD_RESPONSE');
      expect(refused.text).toContain(message);
    },
  );
});
