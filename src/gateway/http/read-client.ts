import { isIP, SocketAddress } from 'node:net';
import { isLoopback } from '../../util/loopback.ts';
import type { ClientHeaders, RequestClient } from '../../util/request-client.ts';

/** What a gateway trusts, and what it forwards. */
export type ClientOptions = {
  /** Number of reverse proxies that append to X-Forwarded-For. */
  readonly trustedProxies: number;
  /** Whether the service learns the client's address and user agent. */
  readonly forwardClient: boolean;
};

/** RFC 9110, section 7.6.3. */
const VIA = { via: '1.1 keytrail' } as const;

/** Visible ASCII and spaces: a header with other characters is not forwarded. */
const USER_AGENT = /^[\x21-\x7e][\x20-\x7e]{0,255}$/;

/**
 * Creates a function that reads who sent a request, from the address of its socket and its headers. Nothing is computed
 * before it is needed. A loopback address is not forwarded, because some services trust it.
 *
 * Of X-Forwarded-For only the entry of the outermost trusted proxy counts, because a client can forge those before it. If
 * that entry is missing or not an IP address, the address of the socket is used.
 */
export function createClientReader({ trustedProxies, forwardClient }: ClientOptions) {
  return (
    peer: string | undefined,
    headers: Pick<Headers, 'get'>,
  ): Omit<RequestClient, 'memory'> => {
    const readIp = () => {
      const forwardedFor = trustedProxies > 0 ? headers.get('x-forwarded-for') : null;
      const entry = forwardedFor?.split(',').at(-trustedProxies);
      const forwarded = entry === undefined ? null : normalize(withoutPort(entry.trim()));
      return forwarded ?? normalize(peer ?? '');
    };
    return {
      address: () => {
        const ip = readIp();
        return ip === null ? null : toNetwork(ip);
      },
      headers: (): ClientHeaders => {
        if (!forwardClient) return VIA;
        const ip = readIp();
        const agent = headers.get('user-agent') ?? '';
        return {
          ...VIA,
          ...(USER_AGENT.test(agent) && { 'user-agent': agent }),
          ...(ip !== null && !isLoopback(ip) && { 'x-forwarded-for': ip }),
        };
      },
    };
  };
}

/**
 * An IPv4 address after a prefix of 96 bits: the well-known one of NAT64 (RFC 6052, section 2.1), or one for local use
 * (RFC 8215).
 */
const NAT64 = /^64:ff9b:(?:0:0:0:0|1:\w+:\w+:\w+):(\w+:\w+)$/;

/**
 * The network of an address, which limits count as one. Of IPv6 the /48: one site may have all of its 65,536 networks
 * of /64 (RFC 6177). An IPv4 address is a network of its own, also within IPv6.
 */
function toNetwork(ip: string): string | null {
  if (isIP(ip) === 4) return ip;
  // Eight groups have seven colons: `::` stands for the zeros that are missing.
  const zeros = '0:'.repeat(9 - ip.split(':').length);
  const groups = ip.replace('::', `:${zeros}`).split(':');
  const whole = groups.map((group) => group || '0').join(':');
  const [, ipv4] = NAT64.exec(whole) ?? [];
  if (ipv4 !== undefined) return normalize(`::ffff:${ipv4}`);
  return `${whole.split(':', 3).join(':')}::/48`;
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  return entry.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
}

/** IPv4-mapped addresses become IPv4, others lose their zone. Null if it is no IP address. */
function normalize(address: string): string | null {
  if (isIP(address) === 4) return address;
  const [ip = ''] = address.split('%'); // drops the zone, as in fe80::1%eth0
  if (isIP(ip) !== 6) return null;
  // In lower case and without leading zeros (RFC 5952).
  const ipv6 = new SocketAddress({ address: ip, family: 'ipv6' }).address;
  const ipv4 = ipv6.replace('::ffff:', '');
  return isIP(ipv4) === 4 ? ipv4 : ipv6;
}
