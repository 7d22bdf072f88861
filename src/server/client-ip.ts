import { isIP } from 'node:net';

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
 * Returns the IP address by which logins are limited; null if it is unknown. IPv6 addresses are truncated to their /64,
 * the smallest prefix that a site gets (RFC 6177, section 2); IPv4-mapped ones are returned as IPv4. Of X-Forwarded-For
 * only the entry of the outermost trusted proxy counts, because a client can forge those before it. If that entry is
 * missing or not an IP address, the socket's address is used.
 */
export function readClientIp({
  peer,
  forwardedFor,
  trustedProxies,
}: ClientIpSources): string | null {
  if (peer === undefined) return null;
  const entries = forwardedFor?.split(',') ?? [];
  const entry = trustedProxies > 0 ? entries.at(-trustedProxies) : undefined;
  return normalize(withoutPort(entry?.trim() ?? '')) ?? normalize(peer);
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  return entry.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
}

function normalize(address: string): string | null {
  if (isIP(address) === 4) return address;
  const [ipv6 = ''] = address.split('%'); // drops the zone, as in fe80::1%eth0
  if (isIP(ipv6) !== 6) return null;
  const groups = expandGroups(ipv6);
  const isMapped = groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff';
  return isMapped ? toIPv4(groups.slice(6)) : `${groups.slice(0, 4).join(':')}::/64`;
}

/** All eight groups, in lower case and without leading zeros, as `URL` formats them (RFC 5952). */
function expandGroups(ipv6: string): readonly string[] {
  const { hostname } = new URL(`http://[${ipv6}]`);
  const [left = [], right = []] = hostname
    .slice(1, -1)
    .split('::')
    .map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array<string>(8 - left.length - right.length).fill('0');
  return [...left, ...zeros, ...right];
}

function toIPv4(groups: readonly string[]): string {
  const bytes = groups.flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 255];
  });
  return bytes.join('.');
}
