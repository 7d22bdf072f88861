import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createResponseBody } from '../../../src/gateway/upstream/response-body.ts';

const later = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A memory that lets each body wait or not, as these say, and what has been taken of it. */
function createMemory(waits: readonly boolean[]) {
  const waiting: (() => void)[] = [];
  let count = 0;
  const memory = {
    taken: 0,
    take: (bytes: number, onTaken: () => void) => {
      memory.taken += bytes;
      count += 1;
      if (!waits[count % Math.max(1, waits.length)]) return undefined;
      waiting.push(onTaken);
      return () => void waiting.splice(waiting.indexOf(onTaken), 1);
    },
    giveBack: (bytes: number) => {
      memory.taken -= bytes;
    },
    grant: () => waiting.shift()?.(),
    waiting,
  };
  return memory;
}

it('has the bytes of all chunks, whatever waits for memory, and in the end takes as many as it has', async () => {
  const chunk = fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 5 }),
    fc.integer({ min: 1, max: 65_536 }).map((size) => new Uint8Array(size).fill(size % 251)),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(chunk, { minLength: 1, maxLength: 40 }),
      fc.array(fc.boolean(), { maxLength: 5 }),
      fc.boolean(),
      async (parts, waits, isLengthKnown) => {
        const chunks = parts.map((part) => Buffer.from(part));
        const whole = Buffer.concat(chunks);
        const memory = createMemory(waits);
        let longest = 0;
        const body = createResponseBody(
          isLengthKnown ? whole.length : Number.NaN,
          memory,
          (bytes) => {
            expect(bytes.length).toBeGreaterThan(longest);
            longest = bytes.length;
          },
        );
        let isPaused = false;
        const flow = {
          pause: () => {
            isPaused = true;
          },
          resume: () => {
            isPaused = false;
          },
        };
        let received: Buffer | undefined;
        for (const part of chunks) {
          body.add(part, flow);
          expect(isPaused).toBe(body.isWaiting());
          while (isPaused) {
            memory.grant();
            await later();
          }
        }
        body.end((bytes) => {
          received = bytes;
        });
        expect(received?.equals(whole)).toBe(true);
        expect(memory.taken).toBe(whole.length);
      },
    ),
    { numRuns: 200 },
  );
});

it('that ends while it waits for memory is whole once it has some', async () => {
  const memory = createMemory([true]);
  const body = createResponseBody(Number.NaN, memory, () => {});
  const flow = { pause: () => {}, resume: () => {} };
  body.add(Buffer.from('ab'), flow);
  body.add(Buffer.from('cd'), flow); // of a connection that was closed meanwhile
  let received = '';
  body.end((bytes) => {
    received = String(bytes);
  });
  expect(received).toBe('');
  for (let count = 0; count < 2; count += 1) memory.grant();
  expect(received).toBe('abcd');
});

it('that is cancelled waits no longer', () => {
  const memory = createMemory([true]);
  const body = createResponseBody(Number.NaN, memory, () => {});
  body.add(Buffer.from('ab'), { pause: () => {}, resume: () => {} });
  expect(memory.waiting).toHaveLength(1);
  body.cancel();
  expect(memory.waiting).toEqual([]);
});
