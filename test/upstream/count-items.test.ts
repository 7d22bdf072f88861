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

it('any text, JSON or not, is counted to its end', () => {
  const part = fc.oneof(
    fc.json(),
    fc.string(),
    fc.constantFrom('"', '\\', '[', ']', '{', '}', ','),
  );
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), (parts) => {
      const text = parts.join('');
      const padded = Buffer.from(text.repeat(1 + Math.ceil((2 * MILLION) / text.length)));
      expect(typeof hasTooManyItems(padded)).toBe('boolean');
    }),
    { numRuns: 10 },
  );
});
