import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AuditDocument } from '../../src/client/operations.generated.ts';
import { hasTooManyItems } from '../../src/upstream/count-items.ts';
import { ask, gatewayOver } from '../helpers/gateway.ts';
import { startService } from '../helpers/service.ts';

const MILLION = 1_000_000;

describe('a response with more than a million items', () => {
  it.each([
    ['empty objects', '{}', 1],
    ['empty lists', '[]', 2],
    ['numbers', '1', 1],
    ['texts', '"a,{[\\"]"', 1],
    ['objects in objects', '{"a":{"b":{}}}', 3],
    ['records', '{"id":"r1","actor":{"id":"u,1"},"tags":["x","y"]}', 4],
  ])('is recognised by its bytes: %s', (_, item, items) => {
    const listOf = (count: number) => Buffer.from(`{"events":[${Array(count).fill(item).join()}]}`);
    expect(hasTooManyItems(listOf(Math.floor(MILLION / items) - 10))).toBe(false);
    expect(hasTooManyItems(listOf(Math.ceil(MILLION / items) + 10))).toBe(true);
  });

  it('is UPSTREAM_BAD_RESPONSE, TOO_LARGE, and the next one is read', async () => {
    let item = '{}';
    await using service = await startService(() => ({
      body: `[${Array(MILLION + 1).fill(item)}]`,
    }));
    await using gateway = gatewayOver(service.url, { upstream: { maxBytes: 2 ** 25 } });
    const refused = await ask(gateway, AuditDocument, {}, { token: 't' });
    expect(refused.errors).toMatchObject([
      { extensions: { code: 'UPSTREAM_BAD_RESPONSE', reason: 'TOO_LARGE' } },
    ]);
    expect(refused.errors?.[0]?.message).toContain('more than a million items');
    item = '';
    const read = await ask(gateway, '{ audit { totalCount } }', {}, { token: 't' });
    expect(read.errors).toMatchObject([{ extensions: { reason: 'NOT_JSON' } }]); // commas alone
  });
});

/** The items of a value in a list, by their definition. */
function countItems(value: unknown, isInList = true): number {
  const sum = (values: readonly unknown[], areInList: boolean) =>
    values.reduce<number>((count, each) => count + countItems(each, areInList), 0);
  if (Array.isArray(value)) return Math.max(1, value.length) + sum(value, true);
  if (typeof value !== 'object' || value === null) return 0;
  return Number(!isInList) + sum(Object.values(value), false);
}

it('the items of any JSON are counted exactly', () => {
  const text = fc.constantFrom('', '"', '\\', ',{', '}]', '[{"a":1},');
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, text, fc.integer(), tie('list'), tie('object')),
    list: fc.array(tie('value'), { maxLength: 3 }),
    object: fc.dictionary(text, tie('value'), { maxKeys: 3 }),
  }));
  fc.assert(
    fc.property(value, fc.constantFrom(-1, 0, 1, 2), (each, more) => {
      const own = 1 + countItems(each);
      const count = Math.floor(MILLION / own) + more;
      const json = Buffer.from(`[${Array(count).fill(JSON.stringify(each)).join()}]`);
      expect(hasTooManyItems(json)).toBe(count * own > MILLION);
    }),
    { numRuns: 12 },
  );
});

it('a text that is no JSON has few items, or many', () => {
  for (const part of [']', '}', '"', '\\', '[', '{', ',']) {
    const isOpening = part === '[' || part === '{';
    expect(hasTooManyItems(Buffer.from(part.repeat(MILLION + 2)))).toBe(isOpening);
  }
});
