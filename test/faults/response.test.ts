import { describe, expect, it } from 'vitest';
import { CANARY, withCanaries } from '../helpers/canary.ts';
import { type FaultBench, OPERATIONS, run, runFaultCase } from '../helpers/fault-bench.ts';
import type { Handler } from '../helpers/service.ts';

/** Writes bytes to the socket, for responses that Node's HTTP server cannot send. */
function bytes(text: string): Handler {
  return (_, response) => {
    response.socket?.end(text);
    return undefined;
  };
}

const HEAD = `HTTP/1.1 200 ${CANARY.upstreamStatus}\r\nx-note: ${CANARY.upstreamHeader}\r\ncontent-type: application/json\r\n`;
const CUT = `[{"id": "${CANARY.upstreamBody}"}`;

/** Streams spaces until `total` bytes, or until the client disconnects; reports how many were sent. */
function stream(total: number, onSent: (bytes: number) => void): Handler {
  return (_, response) => {
    let sent = 0;
    response.writeHead(200, { 'x-note': CANARY.upstreamHeader });
    response.write(`["${CANARY.upstreamBody}"`);
    const more = () => {
      while (sent < total && !response.destroyed) {
        sent += 65_536;
        onSent(sent);
        if (!response.write(' '.repeat(65_536))) return;
      }
      response.end();
    };
    response.on('drain', more);
    more();
    return undefined;
  };
}

/** A login or a deletion may have been carried out, so its code differs from that of a read. */
async function expectUnread(bench: FaultBench, reason: string): Promise<void> {
  for (const operation of OPERATIONS) {
    const { code, errors } = await run(bench, operation);
    expect(code).toBe(operation === 'audit' ? 'UPSTREAM_BAD_RESPONSE' : 'OUTCOME_UNKNOWN');
    expect(errors[0]?.extensions).toMatchObject({ reason, retryable: false });
  }
  expect(bench.seen()).toHaveLength(OPERATIONS.length);
}

describe('a response', () => {
  it('A33: that is an HTML page is UPSTREAM_BAD_RESPONSE, and its text is nowhere', () => {
    const body = `<html><h1>${CANARY.upstreamBody}.internal:8443</h1></html>`;
    return runFaultCase(
      () => withCanaries({ headers: { 'content-type': 'text/html' }, body }),
      async (bench) => {
        for (const operation of OPERATIONS) {
          expect((await run(bench, operation)).code).toBe('UPSTREAM_BAD_RESPONSE');
        }
      },
    );
  });

  it.each([
    ['with a Content-Length', `${HEAD}content-length: 100\r\n\r\n${CUT}`],
    ['in the middle of a chunk', `${HEAD}transfer-encoding: chunked\r\n\r\n70\r\n${CUT}`],
  ])('A34: truncated %s is TRUNCATED, and sent once', (_, text) =>
    runFaultCase(bytes(text), (bench) => expectUnread(bench, 'TRUNCATED')),
  );

  it('A34: truncated without a Content-Length is NOT_JSON: the end of the connection is its end', () =>
    runFaultCase(bytes(`${HEAD}connection: close\r\n\r\n${CUT}`), async (bench) => {
      for (const operation of OPERATIONS) {
        const { code, errors } = await run(bench, operation);
        expect(code).toBe('UPSTREAM_BAD_RESPONSE');
        expect(errors[0]?.extensions).toMatchObject({ retryable: false });
      }
      expect(bench.seen()).toHaveLength(OPERATIONS.length);
    }));

  it.each([
    ['that is compressed', 'CONTENT_ENCODING', `${HEAD}content-encoding: br\r\n\r\n`],
    ['that announces 2 MB', 'TOO_LARGE', `${HEAD}content-length: 2000000\r\n\r\n`],
    ['that has 2 MB', 'TOO_LARGE', `${HEAD}\r\n${'x'.repeat(2_000_000)}`],
    ['with two lengths', 'NOT_HTTP', `${HEAD}content-length: 2\r\ncontent-length: 2\r\n\r\n[]`],
    ['of another protocol', 'NOT_HTTP', 'SSH-2.0-OpenSSH_9.9\r\n'],
  ])('%s is %s, and sent once', (_, reason, text) =>
    runFaultCase(bytes(text), (bench) => expectUnread(bench, reason)),
  );

  it.each([
    ['deleteApiKey', 204, { deleteApiKey: { outcome: 'DELETED' } }, ''],
    ['deleteApiKey', 200, { deleteApiKey: { outcome: 'DELETED' } }, ''],
    ['login', 200, { login: null }, 'UPSTREAM_BAD_RESPONSE'],
  ] as const)('A35: to a %s, empty with %i, gives %j %s', (operation, status, data, code) =>
    runFaultCase(
      () => withCanaries({ status, body: '' }),
      async (bench) => {
        expect(await run(bench, operation)).toMatchObject({ data, code });
        expect(bench.seen()).toHaveLength(1);
      },
    ),
  );

  it.each([
    [401, 'UNAUTHENTICATED', undefined],
    [403, 'FORBIDDEN', undefined],
    [404, 'NOT_FOUND', undefined],
    [429, 'RATE_LIMITED', 7],
  ])('A36: to a deletion with %i is %s', (status, code, retryAfterSeconds) =>
    runFaultCase(
      () => withCanaries({ status, headers: status === 429 ? { 'retry-after': '7' } : {} }),
      async (bench) => {
        const reply = await run(bench, 'deleteApiKey');
        expect(reply.code).toBe(code);
        expect(reply.errors[0]?.extensions.retryAfterSeconds).toBe(retryAfterSeconds);
        expect(bench.seen()).toHaveLength(1);
      },
    ),
  );

  it('A38: of 100 MB in chunks is UPSTREAM_BAD_RESPONSE, and is not downloaded completely', () => {
    let sent = 0;
    const total = 100 * 2 ** 20;
    return runFaultCase(
      stream(total, (now) => {
        sent = now;
      }),
      async (bench) => {
        const { code, errors } = await run(bench, 'audit');
        expect(code).toBe('UPSTREAM_BAD_RESPONSE');
        expect(errors[0]?.extensions.reason).toBe('TOO_LARGE');
        expect(sent).toBeLessThan(total / 2);
      },
      { upstream: { maxBytes: 2 ** 23 } },
    );
  });

  it('A38: with a Content-Length of 10 GB is UPSTREAM_BAD_RESPONSE within 100 ms', () =>
    runFaultCase(
      (_, response) => {
        response.writeHead(200, { 'content-length': '10000000000' });
        response.write(`["${CANARY.upstreamBody}"`);
        return undefined;
      },
      async (bench) => {
        const start = performance.now();
        const { code, errors } = await run(bench, 'audit');
        expect(code).toBe('UPSTREAM_BAD_RESPONSE');
        expect(errors[0]?.extensions.reason).toBe('TOO_LARGE');
        expect(performance.now() - start).toBeLessThan(100 * 8);
      },
    ));

  it('A39: with the id 9007199254740993 keeps every digit of it', () =>
    runFaultCase(
      () => ({ body: '[{"id": 9007199254740993, "n": 9007199254740993}]' }),
      async ({ ask }) => {
        const { data } = await ask('{ audit { nodes { id raw } } }');
        const id = '9007199254740993';
        expect(data).toEqual({ audit: { nodes: [{ id, raw: { id, n: id } }] } });
      },
    ));

  it('A40: with a member called __proto__ gives its tokens and pollutes no prototype', () =>
    runFaultCase(
      () => ({ body: '{"__proto__": {"polluted": 1}, "access_token": "granted"}' }),
      async ({ ask }) => {
        const { data } = await ask(
          'mutation { login(clientId: "c", credential: {refreshToken: "r"}) { accessToken } }',
        );
        expect(data).toEqual({ login: { accessToken: 'granted' } });
        expect(Reflect.get({}, 'polluted')).toBeUndefined();
      },
    ));
});
