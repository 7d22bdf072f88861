import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AuditDocument } from '../../../src/client/operations.generated.ts';
import { cutJson, parsePieces } from '../../../src/gateway/upstream/json-pieces.ts';
import { decodeUtf8, parseJson } from '../../../src/gateway/upstream/parse-json.ts';
import { ask, gatewayOver } from '../../helpers/gateway.ts';
import { startService } from '../../helpers/service.ts';

const MILLION = 1_000_000;
const hasTooMany = async (json: Buffer) => (await cutJson(json)) === 'TOO_MANY';

describe('a response with more than a million items', () => {
  it.each([
    ['empty objects', '{}', 1],
    ['empty lists', '[]', 2],
    ['numbers', '1', 1],
    ['texts', '"a,{[\\"]"', 1],
    ['objects in objects', '{"a":{"b":{}}}', 3],
    ['records', '{"id":"r1","actor":{"id":"u,1"},"tags":["x","y"]}', 4],
  ])('is recognised by its bytes: %s', async (_, item, items) => {
    const listOf = (count: number) => Buffer.from(`{"events":[${Array(count).fill(item).join()}]}`);
    expect(await hasTooMany(listOf(Math.floor(MILLION / items) - 10))).toBe(false);
    expect(await hasTooMany(listOf(Math.ceil(MILLION / items) + 10))).toBe(true);
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

it('the items of any JSON are counted exactly', async () => {
  const text = fc.constantFrom('', '"', '\\', ',{', '}]', '[{"a":1},');
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, text, fc.integer(), tie('list'), tie('object')),
    list: fc.array(tie('value'), { maxLength: 3 }),
    object: fc.dictionary(text, tie('value'), { maxKeys: 3 }),
  }));
  await fc.assert(
    fc.asyncProperty(value, fc.constantFrom(-1, 0, 1, 2), async (each, more) => {
      const own = 1 + countItems(each);
      const count = Math.floor(MILLION / own) + more;
      const json = Buffer.from(`[${Array(count).fill(JSON.stringify(each)).join()}]`);
      expect(await hasTooMany(json)).toBe(count * own > MILLION);
    }),
    { numRuns: 12 },
  );
});

/** The members of all objects in a value. */
function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce<number>((count, each) => count + countMembers(each), own);
}

it('the members of any JSON are counted exactly, as far as they are parsed at once', async () => {
  const text = fc.constantFrom('', '"', '\\', '{"a":1}', ':', ',"b":2');
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 3 }, text, fc.integer(), tie('list'), tie('object')),
    list: fc.array(tie('value'), { maxLength: 2 }),
    object: fc.dictionary(text, tie('value'), { maxKeys: 5 }),
  }));
  await fc.assert(
    fc.asyncProperty(value, fc.constantFrom(-1, 0, 1, 2), async (each, more) => {
      const own = 1 + countMembers(each);
      const count = Math.floor(MILLION / own) + more;
      // In objects of 1,000 members each, in one item of the list.
      const member = `"key":${JSON.stringify(each)}`;
      const objectOf = (size: number) => `{${Array(size).fill(member)}}`;
      const thousands = Array(Math.floor(count / 1000)).fill(objectOf(1000));
      const json = Buffer.from(`{"list":[[${[...thousands, objectOf(count % 1000)]}]]}`);
      const items = 2 + thousands.length + count * countItems(each, false);
      expect(await hasTooMany(json)).toBe(count * own > MILLION || items > MILLION);
    }),
    { numRuns: 12 },
  );
});

it('the members of one object are counted exactly', async () => {
  for (const value of ['1', '{"a":{"b":":"}}', '[{"a":1,"b":2}]'])
    for (const count of [20_000, 20_001]) {
      const json = Buffer.from(`{"a":[{${Array(count).fill(`"key":${value}`)}}]}`);
      expect(await hasTooMany(json)).toBe(count > 20_000);
    }
});

it('a text that is no JSON has few items, or many', async () => {
  for (const part of [']', '}', '"', '\\', '[', '{', ',']) {
    const isOpening = part === '[' || part === '{';
    expect(await hasTooMany(Buffer.from(part.repeat(MILLION + 2)))).toBe(isOpening);
  }
});

/** A value, and how it is written: with blanks, escapes, numbers of many digits and a byte order mark at times. */
const { json } = fc.letrec<{ json: string; list: string; object: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    fc.string().map((text) => JSON.stringify(text)),
    fc.constantFrom(
      '1',
      '-0',
      '12345678901234567890',
      '1e400',
      '"\\u002d"',
      '"[,\\""',
      '"é😀"',
      ' null\n',
    ),
    tie('list'),
    tie('object'),
  ),
  list: fc.array(tie('json'), { maxLength: 20 }).map((items) => `[${items}]`),
  object: fc
    .array(fc.tuple(fc.constantFrom('a', 'b', '__proto__', '', '-'), tie('json')), { maxLength: 3 })
    .map((members) => `{${members.map(([key, value]) => `"${key}":${value}`)}}`),
}));

/** What parsing in pieces results in; undefined if it fails, null if the text has no pieces. */
async function parseInPieces(text: Buffer, pieceBytes: number) {
  const pieces = await cutJson(text, pieceBytes);
  if (pieces === null) return undefined; // nested too deeply
  if (pieces === 'TOO_MANY' || pieces.cuts.length === 0) return null;
  return parsePieces(pieces).then(
    (value) => ({ value: JSON.stringify(value), count: pieces.cuts.length - 1 }),
    () => undefined,
  );
}

function parseWhole(text: Buffer): string | undefined {
  try {
    return JSON.stringify(parseJson(decodeUtf8(text)));
  } catch {
    return undefined;
  }
}

describe('JSON in pieces', () => {
  it('is the same as the whole', async () => {
    let inPieces = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(json, { minLength: 1, maxLength: 20 }),
        fc.constantFrom(
          ['', ''],
          ['\ufeff {"a":', '}'],
          ['{"b":1,"a":{"c":', '},"d":[2]}'],
          ['{"-":"----","":', '}'],
        ),
        fc.integer({ min: 30, max: 60 }),
        async (items, [before, after], pieceBytes) => {
          const text = Buffer.from(`${before}[ ${items} ]${after}`);
          const parsed = await parseInPieces(text, pieceBytes);
          if (parsed === null) return; // another list is longer
          expect(parsed?.value).toBe(parseWhole(text));
          if ((parsed?.count ?? 0) > 1) inPieces += 1;
        },
      ),
      { numRuns: 1000 },
    );
    expect(inPieces).toBeGreaterThan(300);
  });

  it('fails, or is the same as the whole, whatever byte is wrong', async () => {
    const wrong = fc
      .constantFrom(...'[]{},:"\\-1 ', '\0', '\x1b', '\ufeff', '"":', ',,', 'é')
      .map((text) => Buffer.from(text));
    const bytes = fc.oneof(wrong, fc.constant(Buffer.from([0xff])), fc.constant(Buffer.alloc(0)));
    await fc.assert(
      fc.asyncProperty(
        json,
        fc.nat(),
        fc.integer({ min: 0, max: 2 }),
        bytes,
        async (text, at, removed, added) => {
          const whole = Buffer.from(text);
          const index = at % (whole.length + 1);
          const changed = Buffer.concat([
            whole.subarray(0, index),
            added,
            whole.subarray(index + removed),
          ]);
          const parsed = await parseInPieces(changed, 10);
          if (parsed != null) expect(parsed.value).toBe(parseWhole(changed));
        },
      ),
      { numRuns: 20_000 },
    );
  });

  it.each([
    ['a comma at the end', '[1234567890123456,]'],
    ['a large number that begins with 0', '[1234567890123456,-012345678901234567890]'],
    ['a large number without digits after its point', '[1234567890123456,1.e400]'],
    ['two commas', '["1234567890123",,1]'],
    ['a list as a key', '{[1234567890123456,1]:2}'],
    ['the wrong bracket', '[[1234567890123456},1]'],
    ['a byte order mark in it', '[1234567890123456,\ufeff1]'],
    ['a key that is there twice', '{"a":[1234567890123456,1234567890,1],"a":1}'],
    ['nested too deeply', `[1234567890123456,${'['.repeat(64)}${']'.repeat(64)}]`],
    [
      'nested too deeply outside',
      `{"a":[${Array(99).fill(1)}],"b":${'['.repeat(64)}${']'.repeat(64)}}`,
    ],
  ])('fails: %s', async (_, text) => {
    expect(await parseInPieces(Buffer.from(text), text.length > 200 ? 150 : 15)).toBeUndefined();
  });
});

describe('a response of 10 MB', () => {
  const ids = Array.from({ length: 130_000 }, (_, index) => `${9_007_199_254_700_000 + index}1`);
  const records = ids.map(
    (id) => `{"id":${id},"action":"key.déleted","at":"2026-01-01T00:00:00Z"}`,
  );
  it.each([
    ['a list', `[${records}]`, 'utf8', 'application/json'],
    [
      'a list in an object',
      `{"data":{"count":1,"events":[${records}]},"meta":{"total":130000}}`,
      'utf8',
      'application/json',
    ],
    ['a wrong charset', `[${records}]`, 'utf8', 'application/json; charset=iso-8859-1'],
    ['in Latin-1', `[${records}]`, 'latin1', 'application/json; charset=iso-8859-1'],
    ['in UTF-16', `\ufeff[${records}]`, 'utf16le', 'application/json'],
  ] as const)('is read completely: %s', async (_, body, encoding, type) => {
    await using service = await startService((_seen, response) => {
      response.writeHead(200, { 'content-type': type }).end(Buffer.from(body, encoding));
      return undefined;
    });
    await using gateway = gatewayOver(service.url, { upstream: { maxBytes: 2 ** 25 } });
    const query = '{ audit(first: 1000) { totalCount nodes { id action } } }';
    const { data, errors } = await ask(gateway, query, {}, { token: 't' });
    expect(errors).toBeUndefined();
    const nodes = ids.slice(0, 1000).map((id) => ({ id, action: 'key.déleted' }));
    expect(data).toEqual({ audit: { totalCount: ids.length, nodes } });
  });
});
