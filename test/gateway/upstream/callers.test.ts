import { describe, expect, it } from 'vitest';
import { createCallers } from '../../../src/gateway/upstream/callers.ts';

const HOUR_MS = 3_600_000;

function start() {
  const time = { ms: 1 };
  const { identify } = createCallers(() => time.ms);
  const callerOf = (authorization: string | null | undefined, network: string | null = null) =>
    identify(authorization, () => network).caller;
  const accept = (authorization: string) => identify(authorization, () => null).accept();
  return { time, callerOf, accept };
}

describe('the caller of a request', () => {
  it('is the network of its client, until the service has accepted its token', () => {
    const { callerOf, accept } = start();
    expect(callerOf('Bearer t', '192.0.2.1')).toBe('network 192.0.2.1');
    const caller = accept('Bearer t');
    expect(caller).toMatch(/^token [\w-]{43}$/);
    for (const authorization of ['Bearer t', 'bearer t', 'BEARER t'])
      expect(callerOf(authorization, '192.0.2.2')).toBe(caller);
    expect(callerOf('Bearer T', '192.0.2.2')).toBe('network 192.0.2.2');
    expect(accept('Bearer T')).not.toBe(caller);
  });

  it.each([null, undefined, '', 'Bearer t', 'Bearer', 'garbage \u0000'])(
    'is its network with the header %j, and one for all without a known one',
    (authorization) => {
      const { callerOf } = start();
      expect(callerOf(authorization, '2001:db8::/48')).toBe('network 2001:db8::/48');
      expect(callerOf(authorization)).toBe('network unknown');
    },
  );

  it('stays its network if a request without a token is accepted', () => {
    const { identify } = createCallers(() => 1);
    expect(identify(null, () => '192.0.2.1').accept()).toBe('network 192.0.2.1');
    expect(identify(null, () => '192.0.2.2').caller).toBe('network 192.0.2.2');
  });

  it('is its token for an hour after the last acceptance', () => {
    const { time, callerOf, accept } = start();
    const caller = accept('Bearer t');
    time.ms += HOUR_MS;
    expect(callerOf('Bearer t')).toBe(caller);
    accept('Bearer t');
    time.ms += HOUR_MS;
    expect(callerOf('Bearer t')).toBe(caller);
    time.ms += 1;
    expect(callerOf('Bearer t')).toBe('network unknown');
  });

  it('is its token while it is one of the last 50,000 that were accepted, and of twice as many at most', () => {
    const { callerOf, accept } = start();
    const first = accept('Bearer first');
    const tokens = Array.from({ length: 120_000 }, (_, at) => `Bearer ${at}`);
    for (const [at, token] of tokens.entries()) {
      if (at % 49_000 === 0) expect(accept('Bearer first')).toBe(first); // stays one of them
      accept(token);
      if (at >= 49_999) expect(callerOf(tokens[at - 49_999] ?? '')).toMatch(/^token /);
      if (at >= 100_000) expect(callerOf(tokens[at - 100_000] ?? '')).toBe('network unknown');
    }
    expect(callerOf('Bearer first')).toBe(first);
  });
});
