import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FIELDS } from '../../src/cli/learn.ts';
import { GatewayError } from '../../src/errors.ts';
import { completeAudit } from '../../src/inference/index.ts';
import { sufficientPrefix } from '../../src/inference/records.ts';
import { readTrail, type Trail } from '../../src/mapping/trail.ts';
import { resolveConnection } from '../../src/pagination/connection.ts';
import { decodeCursor, findItem } from '../../src/pagination/cursor.ts';
import type { Look } from '../../src/upstream/http-request.ts';
import { createPrefixReader } from '../../src/upstream/partial-body.ts';
import { readResponse } from '../../src/upstream/response.ts';
import type { UpstreamResponse } from '../../src/upstream/types.ts';
import { jsonText, listText, objectText } from '../helpers/json-text.ts';

/** Whitespace behind an answer, so that it is large enough to be looked at, and most of it is not needed. */
const TAIL = Buffer.alloc(70_000, ' ');

/** Few records, many times over, in any order: many are equal. */
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

/** Answers around a list of records, and where the list is. */
const WRAPPERS: readonly (readonly [(list: string, other: string) => string, string])[] = [
  [(list) => list, ''],
  [(list) => `{"events": ${list}}`, '/events'],
  [(list, other) => `{"a":${other},"events":${list},"total":900,"z":${other}}`, '/events'],
  [(list) => `{"links":${list},"\\u0065vents" : ${list},"items":${list}}`, '/events'],
  [(list, other) => `{"things":${list},"other":${other}}`, '/things'],
  [(list) => `{"results":{"events":${list}},"page":1}`, '/results/events'],
  [(list) => `{"results":[{"events":${list}}],"page":1}`, '/results/0/events'],
];

const answers = fc
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

/** Feeds a body in pieces with these borders, and gives what is enough of it. */
function feed(look: Look, bytes: Buffer, borders: readonly number[]) {
  const pieces: Buffer[] = [];
  let size = 0;
  for (const border of [...new Set(borders)].sort((a, b) => a - b).concat(bytes.length)) {
    pieces.push(bytes.subarray(size, border));
    size = border;
    const excerpt = look(pieces, size);
    if (excerpt !== undefined) return excerpt;
  }
  return undefined;
}

/** A window as callers see it, or the code of why there is none. */
async function open(answer: () => UpstreamResponse, first: number, contract: object) {
  try {
    const read = answer();
    const trail = readTrail(completeAudit(read, contract), read);
    const { edges, hasNextPage, endCursor } = await resolveConnection(async () => trail, { first });
    const nodes = edges.map(({ index }) => FIELDS.map((field) => trail.item(index)[field]));
    return { trail, endCursor: endCursor(), nodes, hasNextPage: hasNextPage() };
  } catch (error) {
    if (error instanceof GatewayError) return { code: error.extensions.code };
    throw error;
  }
}

/** Lists in as many objects, cut behind their first items, for each number of these. */
function cutsOf(text: string, depths: readonly number[], size: number): unknown[] {
  const start = Buffer.from(text);
  const bytes = Buffer.concat([start, Buffer.alloc(start.length, ' ')]);
  const borders = Array.from({ length: Math.ceil(start.length / size) }, (_, i) => (i + 1) * size);
  return [1, 2, 3].flatMap((items) => {
    const cuts: unknown[] = [];
    const suffices = (body: unknown) => {
      if (!cuts.some((cut) => isDeepStrictEqual(cut, body))) cuts.push(body);
      return false;
    };
    const look = createPrefixReader(() => ({ items, depths, suffices }), 1_000_000);
    if (look !== undefined) expect(feed(look, bytes, borders)).toBeUndefined();
    return cuts;
  });
}

describe('an excerpt of an answer', () => {
  it('gives the window that the whole answer gives, wherever its pieces end', async () => {
    let cuts = 0;
    await fc.assert(
      fc.asyncProperty(
        answers,
        fc.integer({ min: 1, max: 70 }),
        fc.boolean(),
        fc.boolean(),
        fc.array(fc.nat()),
        async ({ text, pointer }, first, isConfigured, isLonger, borders) => {
          const bytes = Buffer.concat([Buffer.from(text), TAIL]);
          const contract = isConfigured ? { records: pointer } : {};
          const need = sufficientPrefix(first + 1, contract.records);
          const look = createPrefixReader(() => need, bytes.length * (isLonger ? 9 : 1));
          if (look === undefined) throw new Error('The answer is large enough to be cut.');
          const within = borders.map((border) => border % (bytes.length - TAIL.length + 1));
          const excerpt = feed(look, bytes, within);
          if (excerpt === undefined) return;
          cuts += 1;
          const whole = { status: 200, headers: {}, body: bytes };
          const expected = await open(() => readResponse(whole, 'json'), first, contract);
          const actual = await open(
            () => readResponse({ ...whole, body: Buffer.alloc(0), excerpt }, 'json'),
            first,
            contract,
          );
          expect(actual).toMatchObject({ nodes: expected.nodes, hasNextPage: true });
          expect(expected.hasNextPage).toBe(true);
          const position = decodeCursor(actual.endCursor ?? '');
          expect(findItem(expected.trail as Trail, position)).toBe(first - 1); // it was read
        },
      ),
      { numRuns: 200 },
    );
    expect(cuts).toBeGreaterThan(20);
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
  ])('of %s is cut behind each object and list in %j objects', (text, depths, expected) => {
    for (let size = 1; size <= text.length; size += 1) {
      expect(cutsOf(text, depths, size)).toStrictEqual(expected.map((cut) => JSON.parse(cut)));
    }
  });

  it.each<readonly [string, string, number, number]>([
    ['in three lists at most', `{${'"a":[{}],'.repeat(9)}${' '.repeat(900)}`, 99, 3],
    ['again when twice as much has come', `[{},${'1,'.repeat(2000)}`, 1, 10],
  ])('is sought %s', (_, text, size, expected) => {
    let tries = 0;
    const suffices = () => {
      tries += 1;
      return false;
    };
    const look = createPrefixReader(() => ({ items: 1, depths: [0, 1], suffices }), 1_000_000);
    const borders = Array.from({ length: text.length / size }, (_, i) => (i + 1) * size);
    if (look !== undefined) feed(look, Buffer.from(text), borders);
    expect(tries).toBe(expected);
  });
});
