import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatewayError } from '../../../src/errors.ts';
import { DIGEST_LENGTH } from '../../../src/gateway/pagination/find-item.ts';
import {
  type Checkpoint,
  decodeCheckpoint,
  encodeCheckpoint,
  MAX_KNOWN,
} from '../../../src/gateway/tail/checkpoint.ts';

const DIGEST = fc.stringMatching(new RegExp(`^[\\w-]{${DIGEST_LENGTH}}$`));

const CHECKPOINT: fc.Arbitrary<Checkpoint> = fc.record({
  known: fc.array(DIGEST, { maxLength: MAX_KNOWN }),
  isWhole: fc.boolean(),
  order: fc.constantFrom(null, 'newest-first', 'oldest-first'),
  start: fc.oneof(
    fc.constant(null),
    fc.record({ link: fc.string() }),
    fc.record({ parameter: fc.string(), value: fc.string() }),
    fc.record({
      parameter: fc.string(),
      value: fc.string(),
      preceding: fc.record({ pages: fc.nat(), records: fc.nat() }),
    }),
  ),
  startsWith: fc.constantFrom(undefined, 'older', 'newer'),
  selection: fc.string(),
});

const encode = (head: unknown) => Buffer.from(JSON.stringify(head)).toString('base64url');

/** Decodes it, or returns null if it is rejected as it should be. */
function tryDecode(text: string): Checkpoint | null {
  try {
    return decodeCheckpoint(text);
  } catch (error) {
    expect(error).toBeInstanceOf(GatewayError);
    expect(error).toMatchObject({ extensions: { code: 'BAD_USER_INPUT', retryable: false } });
    return null;
  }
}

describe('a checkpoint', () => {
  it('is decoded as it was encoded', () => {
    fc.assert(
      fc.property(CHECKPOINT, (checkpoint) => {
        expect(decodeCheckpoint(encodeCheckpoint(checkpoint))).toEqual(checkpoint);
      }),
    );
  });

  it('needs no escapes in a URL, and has at most 1,500 characters with 64 records and a page number', () => {
    const known = Array.from({ length: MAX_KNOWN }, (_, index) =>
      `${index}`.padEnd(DIGEST_LENGTH, 'd'),
    );
    const start = {
      parameter: 'page',
      value: '1234',
      preceding: { pages: 1234, records: 123_400 },
    };
    const order = 'oldest-first';
    const text = encodeCheckpoint({ known, isWhole: false, order, start, selection: '' });
    expect(text).toMatch(/^[\w.-]+$/);
    expect(text.length).toBeLessThanOrEqual(1500);
  });

  it('that Keytrail did not issue is rejected, or decoded to what it says', () => {
    const head = fc.oneof(
      fc.json(),
      fc.jsonValue().map((value) => JSON.stringify(value)),
      fc
        .tuple(
          fc.constantFrom(-1, 0, 1, 2, 3, 1.5),
          fc.constantFrom(0, 1, 2),
          fc.constantFrom(-1, 0, 1, 2, 3, 0.5, 'length'),
          fc.string(),
          fc.string(),
        )
        .map((parts) => JSON.stringify(parts)),
    );
    const forged = fc
      .tuple(head, fc.stringMatching(/^[\w-]{0,1500}$/))
      .map(([json, digests]) => `3.${Buffer.from(json).toString('base64url')}.${digests}`);
    const damaged = fc
      .tuple(CHECKPOINT, fc.nat(), fc.string({ maxLength: 3 }))
      .map(([checkpoint, at, text]) => {
        const encoded = encodeCheckpoint(checkpoint);
        const index = at % (encoded.length + 1);
        return encoded.slice(0, index) + text + encoded.slice(index + text.length + 1);
      });
    fc.assert(
      fc.property(fc.oneof(fc.string(), forged, damaged), (text) => {
        const checkpoint = tryDecode(text);
        if (checkpoint === null) return;
        expect(decodeCheckpoint(encodeCheckpoint(checkpoint))).toEqual(checkpoint);
        expect(checkpoint.known.length).toBeLessThanOrEqual(MAX_KNOWN);
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['an empty text', ''],
    ['a dot', '.'],
    ['__proto__', '__proto__'],
    ['a cursor', encode(['f', 0, 1])],
    ['a checkpoint of another version', `4.${encode([0, 0, 0, ''])}.`],
    ['an object', `3.${encode({ 0: 0, 1: 0, 2: 0, 3: '', length: 4 })}.`],
    ['a text', `3.${encode('0001')}.`],
    ['an unknown order', `3.${encode([3, 0, 0, ''])}.`],
    ['an order by name', `3.${encode(['__proto__', 0, 0, ''])}.`],
    ['an order of Array.prototype', `3.${encode(['length', 0, 0, ''])}.`],
    ['true instead of 1', `3.${encode([0, true, 0, ''])}.`],
    ['records of another kind at its page', `3.${encode([0, 0, 3, ''])}.`],
    ['records of a kind by name', `3.${encode([0, 0, 'length', ''])}.`],
    ['a selection that is a number', `3.${encode([0, 0, 0, 1])}.`],
    ['a page that is an object', `3.${encode([0, 0, 0, '', { link: '/' }])}.`],
    ['a page of five parts', `3.${encode([0, 0, 0, '', 'p', '1', 1, 1, 1])}.`],
    ['a count that is no integer', `3.${encode([0, 0, 0, '', 'p', '1', 1.5, 1])}.`],
    ['a digest that is cut off', `3.${encode([0, 0, 0, ''])}.abcdef`],
    ['65 digests', `3.${encode([0, 0, 0, ''])}.${'a'.repeat(DIGEST_LENGTH * (MAX_KNOWN + 1))}`],
    ['two dots', `3.${encode([0, 0, 0, ''])}..`],
    ['a line break at its end', `3.${encode([0, 0, 0, ''])}.\n`],
    ['deep nesting', `3.${Buffer.from('['.repeat(100_000)).toString('base64url')}.`],
  ])('is not %s', (_, text) => {
    expect(tryDecode(text)).toBeNull();
  });

  it('of another version is rejected with a message that says so', () => {
    const first = `${encode([1, 0, ''])}.${'abcdefg'.repeat(MAX_KNOWN)}`;
    const second = `2.${encode([1, 0, ''])}.${'d'.repeat(DIGEST_LENGTH)}`;
    const later = ['4.W10.', '12.eyJhIjoxfQ.abc', '4.--.'];
    for (const other of [first, second, ...later])
      expect(() => decodeCheckpoint(other)).toThrow(
        /is a checkpoint of another version of Keytrail: start without/,
      );
    expect(() => decodeCheckpoint('nonsense.abc')).toThrow(/is not a checkpoint/);
  });

  it('sets nothing on a prototype', () => {
    const text = `3.${Buffer.from('{"__proto__":{"polluted":1}}').toString('base64url')}.`;
    expect(tryDecode(text)).toBeNull();
    expect(Object({}).polluted).toBeUndefined();
  });
});
