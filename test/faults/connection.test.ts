import { describe, expect, it } from 'vitest';
import { CANARY, withCanaries } from '../helpers/canary.ts';
import { OPERATIONS, run, runFaultCase } from '../helpers/fault-bench.ts';
import { type Handler, startService } from '../helpers/service.ts';

/** The deadline, and the tolerance: 150 ms, eight times that on a busy machine. */
const DEADLINE_MS = 600;
const TOLERANCE_MS = 150 * 8;

const hang: Handler = () => undefined;

const drip: Handler = (_, response) => {
  response.writeHead(200, { 'x-note': CANARY.upstreamHeader });
  response.write(`["${CANARY.upstreamBody}"`);
  const dripping = setInterval(() => response.write(' '), 50);
  response.on('close', () => clearInterval(dripping));
  return undefined;
};

const reset: Handler = (_, response) => {
  response.socket?.resetAndDestroy();
  return undefined;
};

describe('a service', () => {
  it.each([302, 307])(
    'A27: that redirects with %s is not followed by any operation',
    async (status) => {
      await using other = await startService({ body: [] });
      const location = `${other.url}/${CANARY.upstreamHeader}`;
      await runFaultCase(
        () => withCanaries({ status, headers: { location } }),
        async (bench) => {
          for (const operation of OPERATIONS) {
            const { code, errors } = await run(bench, operation);
            expect(code).toBe('UPSTREAM_BAD_RESPONSE');
            expect(errors[0]?.extensions.reason).toBe('REDIRECT');
          }
          expect(bench.seen()).toHaveLength(3);
        },
      );
      expect(other.connections()).toBe(0);
    },
  );

  it.each([
    ['A28: that sends no headers', hang],
    ['A29: that sends its body byte by byte', drip],
  ])('%s gets UPSTREAM_TIMEOUT at the deadline, and its socket is closed', (_, behave) =>
    runFaultCase(
      behave,
      async (bench) => {
        const start = performance.now();
        const { code } = await run(bench, 'audit');
        const milliseconds = performance.now() - start;
        expect(code).toBe('UPSTREAM_TIMEOUT');
        expect(milliseconds).toBeGreaterThan(DEADLINE_MS - 150);
        expect(milliseconds).toBeLessThan(DEADLINE_MS + TOLERANCE_MS);
        await expect.poll(bench.sockets).toBe(0);
        for (const operation of ['login', 'deleteApiKey'] as const) {
          expect((await run(bench, operation)).code).toBe('OUTCOME_UNKNOWN');
        }
        await expect.poll(bench.sockets).toBe(0);
      },
      { upstream: { timeoutMs: DEADLINE_MS } },
    ),
  );

  it('A30: that resets an audit request once gets a retry, which is served', () => {
    let isFirst = true;
    return runFaultCase(
      (...request) => {
        if (!isFirst) return { body: [] };
        isFirst = false;
        return reset(...request);
      },
      async (bench) => {
        expect((await run(bench, 'audit')).data).toEqual({ audit: { nodes: [] } });
        expect(bench.seen()).toHaveLength(2);
      },
    );
  });

  it.each(['login', 'deleteApiKey'] as const)(
    'A30: that resets a %s causes OUTCOME_UNKNOWN, and receives it once',
    (operation) =>
      runFaultCase(reset, async (bench) => {
        expect((await run(bench, operation)).code).toBe('OUTCOME_UNKNOWN');
        expect(bench.seen()).toHaveLength(1);
      }),
  );

  it.each(['login', 'deleteApiKey'] as const)(
    'A31: that responds to a %s with 503 receives it once',
    (operation) =>
      runFaultCase(
        () => withCanaries({ status: 503 }),
        async (bench) => {
          expect((await run(bench, operation)).code).toBe('UPSTREAM_ERROR');
          expect(bench.seen()).toHaveLength(1);
        },
      ),
  );

  it('A31: that responds to an audit request with 503 once gets a retry', () => {
    let isFirst = true;
    return runFaultCase(
      () => {
        if (!isFirst) return { body: [] };
        isFirst = false;
        return withCanaries({ status: 503 });
      },
      async (bench) => {
        expect((await run(bench, 'audit')).data).toEqual({ audit: { nodes: [] } });
        expect(bench.seen()).toHaveLength(2);
      },
    );
  });

  it('A31: that responds to every audit request with 503 receives it twice at most', () =>
    runFaultCase(
      () => withCanaries({ status: 503 }),
      async (bench) => {
        expect((await run(bench, 'audit')).code).toBe('UPSTREAM_ERROR');
        expect(bench.seen().length).toBeLessThanOrEqual(2);
      },
    ));

  it('A32: that refuses connections is UPSTREAM_UNAVAILABLE within 100 ms, and works when it is back', () =>
    runFaultCase(null, async (bench) => {
      await bench.withoutService(async () => {
        for (const operation of OPERATIONS) {
          const start = performance.now();
          expect((await run(bench, operation)).code).toBe('UPSTREAM_UNAVAILABLE');
          expect(performance.now() - start).toBeLessThan(100 * 8);
        }
      });
    }));
});
