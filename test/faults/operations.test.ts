import { describe, expect, it } from 'vitest';
import { CANARY } from '../helpers/canary.ts';
import { type FaultBench, type Reply, runFaultCase } from '../helpers/fault-bench.ts';

const LOGIN = `login(clientId: "${CANARY.literal}", credential: {clientSecret: "${CANARY.literal}"}) { tokenType }`;
const DELETE = `deleteApiKey(clientId: "${CANARY.literal}") { outcome }`;

describe('a document that exceeds a limit', () => {
  it.each([
    ['A1: two logins under aliases', `mutation { a: ${LOGIN} b: ${LOGIN} }`],
    [
      'A2: fifty deletions under aliases',
      `mutation { ${Array.from({ length: 50 }, (_, i) => `d${i}: ${DELETE}`).join(' ')} }`,
    ],
    [
      'A3: two deletions in fragments',
      `mutation { ...F ... on Mutation { b: ${DELETE} } } fragment F on Mutation { a: ${DELETE} }`,
    ],
    [
      'A3: two deletions, one of them skipped,',
      `mutation ($v: Boolean = true) { a: ${DELETE} b: ${DELETE.replace('{', '@skip(if: $v) {')} }`,
    ],
  ])('%s is OPERATION_TOO_COMPLEX, and nothing is sent', (_, document) =>
    runFaultCase(null, async ({ ask, seen }) => {
      expect((await ask(document)).code).toBe('OPERATION_TOO_COMPLEX');
      expect(seen()).toHaveLength(0);
    }),
  );

  it('A4: one login under an alias is executed', () =>
    runFaultCase(
      () => ({ body: { access_token: 'granted' } }),
      async ({ ask, seen }) => {
        const { data } = await ask(`mutation { mine: ${LOGIN} }`);
        expect(data).toEqual({ mine: { tokenType: 'Bearer' } });
        expect(seen()).toHaveLength(1);
      },
    ));

  it('A8: 10,000 aliases are rejected within 20 ms', () =>
    runFaultCase(null, async (bench) => {
      // The body with 10,000 is larger than 64 KB, the one with 3,000 is not.
      for (const [length, expected] of [
        [10_000, 'BAD_REQUEST'],
        [3000, 'OPERATION_TOO_COMPLEX'],
      ] as const) {
        const aliases = Array.from({ length }, (_, index) => `a${index}:__typename`);
        const [milliseconds, { code }] = await fastest(bench, `{ ${aliases.join(' ')} }`);
        expect(code).toBe(expected);
        expect(milliseconds).toBeLessThan(20 * TOLERANCE);
      }
    }));

  it.each([
    ['selections 2,000 deep', `{ audit ${'{ nodes '.repeat(2000)} ${'}'.repeat(2000)} }`],
    [
      'a list 20,000 deep',
      `{ audit(parameters: ${'['.repeat(20_000)}${']'.repeat(20_000)}) { totalCount } }`,
    ],
    ['inline fragments 2,000 deep', `{ ${'... { '.repeat(2000)} __typename ${'}'.repeat(2000)} }`],
  ])('A9: %s are rejected with a code, without a stack overflow', (_, document) =>
    runFaultCase(null, async ({ ask, logged }) => {
      expect((await ask(document)).code).toMatch(
        /^(?:OPERATION_TOO_COMPLEX|GRAPHQL_PARSE_FAILED)$/,
      );
      expect(logged.join()).not.toMatch(/RangeError|"bug"/);
    }),
  );

  it('A10: fragments that expand to 2^20 fields are rejected within 50 ms', () =>
    runFaultCase(null, async (bench) => {
      const fan = Array.from(
        { length: 20 },
        (_, level) => `fragment F${level} on Query { ...F${level + 1} ...F${level + 1} }`,
      );
      const document = `{ ...F0 } ${fan.join(' ')} fragment F20 on Query { __typename }`;
      const [milliseconds, { status }] = await fastest(bench, document);
      expect(status).toBeLessThan(500);
      expect(milliseconds).toBeLessThan(50 * TOLERANCE);
    }));
});

describe('logins of one client ID', () => {
  it('A6: of thirty in a second the first are served, the others RATE_LIMITED', () =>
    runFaultCase(
      () => ({ body: { access_token: 'granted' } }),
      async ({ ask, seen }) => {
        const codes: string[] = [];
        for (let round = 0; round < 30; round += 1) {
          const { code, errors } = await ask(`mutation { ${LOGIN} }`);
          codes.push(code);
          if (code === '') continue;
          expect(code).toBe('RATE_LIMITED');
          expect(errors[0]?.extensions.retryAfterSeconds).toBeGreaterThan(0);
        }
        const served = codes.findIndex((code) => code !== '');
        expect(served).toBeGreaterThan(0);
        expect(seen()).toHaveLength(served);
      },
      { loginRateLimit: 10 },
    ));
});

/** Factor for the times on a busy machine. */
const TOLERANCE = 5;

/** Sends a document five times. Returns the duration of the fastest response, and that response. */
async function fastest({ ask }: FaultBench, document: string): Promise<readonly [number, Reply]> {
  const replies: (readonly [number, Reply])[] = [];
  for (let round = 0; round < 5; round += 1) {
    const start = performance.now();
    const reply = await ask(`${document} # ${round}`);
    replies.push([performance.now() - start, reply]);
  }
  return replies.toSorted(([a], [b]) => a - b)[0] ?? expect.unreachable();
}
