import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/errors.ts';
import { completeAudit } from '../../../src/gateway/inference/complete-contract.ts';
import { type AuditPage, readAuditPage } from '../../../src/gateway/mapping/event.ts';
import { decodeCursor } from '../../../src/gateway/pagination/cursor.ts';
import { findItem } from '../../../src/gateway/pagination/find-item.ts';
import { resolveConnection } from '../../../src/gateway/pagination/resolve-connection.ts';
import { sufficientPrefix } from '../../../src/gateway/schema/page-loader.ts';
import { decodeResponse } from '../../../src/gateway/upstream/decode-response.ts';
import { type BodyScanner, createBodyScanner } from '../../../src/gateway/upstream/partial-json.ts';
import { FIELDS } from '../../../src/terminal/learn/learn-contract.ts';
import type { UpstreamResponse } from '../../../src/util/upstream-response.ts';
import { jsonText, listText, objectText } from '../../helpers/json-text.ts';

/** Whitespace after a body, which makes it large enough to be scanned. */
const TAIL = Buffer.alloc(70_000, ' ');

/** A few different records, repeated in any order. */
const records = fc
  .tuple(
    fc.array(
      objectText(
        fc.subarray([
          '"time":"2026-11-21T10:00:00Z"',
          '"id":12345678901234567890',
          '"id":7',
          '"action":"key.delete"',
          '"\\u0061ctor":{"id":"u1"}',
        ]),
      ),
      { minLength: 1, maxLength: 6 },
    ),
    fc.array(fc.nat(5), { maxLength: 130, size: 'max' }),
  )
  .map(([kinds, order]) => order.map((kind) => kinds[kind % kinds.length] ?? '{}'));

/** Bodies around a list of records, and the pointer of the list. */
const WRAPPERS: readonly (readonly [(list: string, other: string) => string, string])[] = [
  [(list) => list, ''],
  [(list) => `{"events": ${list}}`, '/events'],
  [(list, other) => `{"a":${other},"events":${list},"total":900,"z":${other}}`, '/events'],
  [(list) => `{"links":${list},"\\u0065vents" : ${list},"items":${list}}`, '/events'],
  [(list, other) => `{"things":${list},"other":${other}}`, '/things'],
  [(list) => `{"results":{"events":${list}},"page":1}`, '/results/events'],
  [(list) => `{"results":[{"events":${list}}],"page":1}`, '/results/0/events'],
];

const bodies = fc
  .record({
    items: records,
    wrap: fc.constantFrom(...WRAPPERS),
    other: jsonText,
    space: fc.constantFrom('', ' ', '\n'),
  })
  .map(({ items, wrap: [wrap, pointer], other, space }) => ({
    text: wrap(listText(items, space), other),
    pointer,
  }));

/** Passes a body to a scanner in chunks that end at these offsets; returns its partial body. */
function feed(scan: BodyScanner, bytes: Buffer, offsets: readonly number[]) {
  for (const offset of [...new Set(offsets)].sort((a, b) => a - b).concat(bytes.length)) {
    const partialBody = scan(bytes.subarray(0, offset));
    if (partialBody !== undefined) return partialBody;
  }
  return undefined;
}

/** The first page of a response as clients see it, or the code of its error. */
async function open(read: () => UpstreamResponse, first: number, contract: object) {
  try {
    const response = read();
    const trail = readAuditPage(completeAudit(response, { audit: contract }), response);
    const { edges, hasNextPage, endCursor } = await resolveConnection(async () => trail, { first });
    const nodes = edges.map(({ index }) => FIELDS.map((field) => trail.item(index)[field]));
    return { trail, endCursor: endCursor(), nodes, hasNextPage: hasNextPage() };
  } catch (error) {
    if (error instanceof GatewayError) return { code: error.extensions.code };
    throw error;
  }
}

/** All truncated bodies that a scanner parses for lists at these depths, with 1, 2 and 3 items. */
function truncationsOf(text: string, depths: readonly number[], size: number): unknown[] {
  const start = Buffer.from(text);
  const bytes = Buffer.concat([start, Buffer.alloc(start.length, ' ')]);
  const offsets = Array.from({ length: Math.ceil(start.length / size) }, (_, i) => (i + 1) * size);
  return [1, 2, 3].flatMap((items) => {
    const truncations: unknown[] = [];
    const suffices = (body: unknown) => {
      if (!truncations.some((one) => isDeepStrictEqual(one, body))) truncations.push(body);
      return false;
    };
    const scan = createBodyScanner({ items, depths, isLengthNeeded: true, suffices }, 1e6);
    if (scan !== undefined) expect(feed(scan, bytes, offsets)).toBeUndefined();
    return truncations;
  });
}

describe('a partial body', () => {
  it('yields the same page as the whole body, wherever its chunks end', async () => {
    let partialBodies = 0;
    await fc.assert(
      fc.asyncProperty(
        bodies,
        fc.integer({ min: 1, max: 70 }),
        fc.boolean(),
        fc.boolean(),
        fc.array(fc.nat()),
        async ({ text, pointer }, first, isConfigured, isLonger, numbers) => {
          const bytes = Buffer.concat([Buffer.from(text), TAIL]);
          const contract = isConfigured ? { records: pointer } : {};
          const prefix = sufficientPrefix(first + 1, {
            recordsPointer: contract.records,
            isLengthNeeded: true,
          });
          const scan = createBodyScanner(prefix, bytes.length * (isLonger ? 9 : 1));
          if (scan === undefined) throw new Error('The body is large enough to be scanned.');
          const offsets = numbers.map((number) => number % (bytes.length - TAIL.length + 1));
          const partialBody = feed(scan, bytes, offsets);
          if (partialBody === undefined) return;
          partialBodies += 1;
          const whole = { status: 200, headers: {}, body: bytes };
          const expected = await open(() => decodeResponse(whole, 'json'), first, contract);
          const actual = await open(
            () => decodeResponse({ ...whole, body: Buffer.alloc(0), partialBody }, 'json'),
            first,
            contract,
          );
          expect(actual).toMatchObject({ nodes: expected.nodes, hasNextPage: true });
          expect(expected.hasNextPage).toBe(true);
          const position = decodeCursor(actual.endCursor ?? '');
          expect(await findItem(expected.trail as AuditPage, position)).toBe(first - 1); // the cursor of the partial body finds its event in the whole one
        },
      ),
      { numRuns: 200 },
    );
    expect(partialBodies).toBeGreaterThan(20);
  });

  it.each<readonly [string, readonly number[], readonly string[]]>([
    ['[{}, [], 1, "]", {"a": [{}]}]', [0], ['[{}]', '[{}, []]', '[{}, [], 1, "]", {"a": [{}]}]']],
    [
      '{"a": [{}], "b": [[1], {}]}',
      [1],
      ['{"a": [{}]}', '{"a": [{}], "b": [[1]]}', '{"a": [{}], "b": [[1], {}]}'],
    ],
    ['{"a": {"b": [{}]}, "c": [{}]}', [2], ['{"a": {"b": [{}]}}']],
    ['{"a": [{"b": [{}]}]}', [2], []],
    ['{"a": [{}], "b": {"c": {}}}', [1], ['{"a": [{}]}']],
    ['{"a": {"b": {}}, "c": [{}]}', [1], ['{"a": {"b": {}}, "c": [{}]}']],
    ['{"é": [{"日": "🔑"}]}', [1], ['{"é": [{"日": "🔑"}]}']],
    ['[[{}]]', [1], []],
    [
      String.raw`{"a\\": ["\"[{", {"\\\"{": "}]\u005d\\"}]}`,
      [1],
      [String.raw`{"a\\": ["\"[{", {"\\\"{": "}]\u005d\\"}]}`],
    ],
    ['{"a": 1}', [0, 1], []],
  ])(
    'of %s is truncated after each object and array of lists at depths %j',
    (text, depths, expected) => {
      for (let size = 1; size <= text.length; size += 1) {
        expect(truncationsOf(text, depths, size)).toStrictEqual(
          expected.map((text) => JSON.parse(text)),
        );
      }
    },
  );

  it.each<readonly [string, string, number, number]>([
    ['in at most three lists', `{${'"a":[{}],'.repeat(9)}${' '.repeat(900)}`, 99, 3],
    ['again only when twice as many bytes have arrived', `[{},${'1,'.repeat(2000)}`, 1, 10],
  ])('is searched for %s', (_, text, size, expected) => {
    let attempts = 0;
    const suffices = () => {
      attempts += 1;
      return false;
    };
    const scan = createBodyScanner(
      { items: 1, depths: [0, 1], isLengthNeeded: true, suffices },
      1e6,
    );
    const offsets = Array.from({ length: text.length / size }, (_, i) => (i + 1) * size);
    if (scan !== undefined) feed(scan, Buffer.from(text), offsets);
    expect(attempts).toBe(expected);
  });
});
