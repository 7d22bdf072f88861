import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ClientIpSources,
  isLoopback,
  readClientIp,
  toPrefix,
} from '../../src/http/client-ip.ts';

const PEER = '198.51.100.9';

/** What the limits count. */
const readPrefix = (sources: ClientIpSources) => {
  const ip = readClientIp(sources);
  return ip === null ? null : toPrefix(ip);
};

describe('the IP address of a client', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::ffff:c000:0201', '192.0.2.1'],
    ['::FFFF:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:0DB8:0001:0002::', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['', null],
    ['/run/keytrail.sock', null],
  ])('is that of the socket %s: %s', (peer, expected) => {
    expect(readPrefix({ peer, forwardedFor: '203.0.113.1', trustedProxies: 0 })).toBe(expected);
  });

  it.each<[number, string | null, string]>([
    [0, '203.0.113.1', PEER],
    [1, null, PEER],
    [1, '', PEER],
    [1, '203.0.113.1', '203.0.113.1'],
    [1, 'forged, 203.0.113.1', '203.0.113.1'],
    [1, '203.0.113.7,203.0.113.1', '203.0.113.1'],
    [2, '203.0.113.7, 203.0.113.1, 10.0.0.1', '203.0.113.1'],
    [2, '203.0.113.1', PEER],
    [3, '203.0.113.7, 203.0.113.1', PEER],
    [1, '203.0.113.1, unknown', PEER],
    [1, '203.0.113.1, ', PEER],
    [1, '203.0.113.1:4711', '203.0.113.1'],
    [1, '[2001:db8:1:2::3]:4711', '2001:db8:1:2::/64'],
    [1, '[2001:db8:1:2::3]', '2001:db8:1:2::/64'],
    [1, '2001:db8:1:2::3', '2001:db8:1:2::/64'],
    [1, '"203.0.113.1"', PEER],
    [1, '203.0.113.256', PEER],
  ])('with %d proxies and X-Forwarded-For %j is %s', (trustedProxies, forwardedFor, expected) => {
    expect(readPrefix({ peer: PEER, forwardedFor, trustedProxies })).toBe(expected);
  });

  it.each<[number, string | null, string | null]>([
    [0, '203.0.113.1', null],
    [1, '203.0.113.7, 203.0.113.1', '203.0.113.1'],
    [2, '203.0.113.1', null],
    [1, 'unknown', null],
    [1, null, null],
  ])(
    'without a socket, with %d proxies and X-Forwarded-For %j is %s',
    (trustedProxies, forwardedFor, expected) => {
      expect(readPrefix({ peer: undefined, forwardedFor, trustedProxies })).toBe(expected);
    },
  );

  it('is never one that the client wrote into X-Forwarded-For', () => {
    const sent = fc.option(fc.oneof(fc.string(), fc.ipV4(), fc.ipV6()));
    fc.assert(
      fc.property(
        sent,
        fc.ipV4(),
        fc.array(fc.ipV4(), { maxLength: 4 }),
        (forged, client, inner) => {
          // Each proxy appends the address of its client; the innermost proxy is the peer of the socket.
          const forwardedFor = [...(forged === null ? [] : [forged]), client, ...inner].join(', ');
          const trustedProxies = inner.length + 1;
          expect(readPrefix({ peer: PEER, forwardedFor, trustedProxies })).toBe(client);
        },
      ),
    );
  });

  it('is the same in every notation, and for every host of an IPv6 /64', () => {
    const group = fc.integer({ min: 1, max: 0xffff });
    const groups = (count: number) => fc.array(group, { minLength: count, maxLength: count });
    fc.assert(
      fc.property(groups(4), groups(4), (site, host) => {
        const long = [...site, ...host].map((each) => each.toString(16).padStart(4, '0'));
        const short = site.map((each) => each.toString(16)).join(':');
        const read = (peer: string) => readPrefix({ peer, forwardedFor: null, trustedProxies: 0 });
        expect(read(long.join(':').toUpperCase())).toBe(`${short}::/64`);
        expect(read(`${short}::`)).toBe(`${short}::/64`);
      }),
    );
  });
});

describe('the whole IP address', () => {
  it.each([
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:0DB8:0001:0002::0:5', '2001:db8:1:2::5'],
    ['fe80::1%eth0', 'fe80::1'],
  ])('of the socket %s is %s', (peer, expected) => {
    expect(readClientIp({ peer, forwardedFor: null, trustedProxies: 0 })).toBe(expected);
  });

  it.each([
    ['127.0.0.1', true],
    ['127.8.9.1', true],
    ['::1', true],
    ['::ffff:127.0.0.1', true],
    ['12.7.0.1', false],
    ['2001:db8::1', false],
  ])('%s is loopback: %s', (peer, expected) => {
    const ip = readClientIp({ peer, forwardedFor: null, trustedProxies: 0 });
    expect(isLoopback(ip ?? '')).toBe(expected);
  });
});
