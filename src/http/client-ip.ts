import { isIP, SocketAddress } from 'node:net';

/** The sources of a client's IP address. */
export type ClientIpSources = {
  /** Remote address of the socket; undefined if there is no socket. */
  readonly peer: string | undefined;
  /** The header X-Forwarded-For. Each proxy appends the address of its client. */
  readonly forwardedFor: string | null;
  /** Number of reverse proxies in front of the gateway that append to that header. */
  readonly trustedProxies: number;
};

/**
 * Returns the client's IP address; null if it is unknown. IPv4-mapped addresses are returned as IPv4, others without a
 * zone. Of X-Forwarded-For only the entry of the outermost trusted proxy counts, because a client can forge those before
 * it. If that entry is missing or not an IP address, the socket's address is used.
 */
export function readClientIp(sources: ClientIpSources): string | null {
  const { peer, forwardedFor, trustedProxies } = sources;
  const entries = forwardedFor?.split(',') ?? [];
  const entry = trustedProxies > 0 ? entries.at(-trustedProxies) : undefined;
  return normalize(withoutPort(entry?.trim() ?? '')) ?? normalize(peer ?? '');
}

/**
 * Truncates an IPv6 address to its /64, the smallest prefix that a site gets (RFC 6177, section 2): limits count its
 * addresses as one. An IPv4 address is returned as it is.
 */
export function toPrefix(ip: string): string {
  if (isIP(ip) === 4) return ip;
  // Eight groups have seven colons: `::` stands for the zeros that are missing.
  const zeros = '0:'.repeat(9 - ip.split(':').length);
  const groups = ip.replace('::', `:${zeros}`).split(':').slice(0, 4);
  return `${groups.map((group) => group || '0').join(':')}::/64`;
}

/** Whether an address is this host's own. */
export function isLoopback(ip: string): boolean {
  return ip === '::1' || ip.startsWith('127.');
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  return entry.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
}

function normalize(address: string): string | null {
  if (isIP(address) === 4) return address;
  const [ip = ''] = address.split('%'); // drops the zone, as in fe80::1%eth0
  if (isIP(ip) !== 6) return null;
  // In lower case and without leading zeros (RFC 5952).
  const ipv6 = new SocketAddress({ address: ip, family: 'ipv6' }).address;
  const ipv4 = ipv6.replace('::ffff:', '');
  return isIP(ipv4) === 4 ? ipv4 : ipv6;
}
