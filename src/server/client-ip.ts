import { isIP } from 'node:net';

/** What a request says of where it comes from. */
export type ForwardedFor = {
  /** The other end of the socket; undefined when there is no socket. */
  readonly peer: string | undefined;
  /** The header X-Forwarded-For, to which each proxy adds on the right whom it was asked by. */
  readonly forwardedFor: string | null;
  /** How many proxies stand before the gateway and add to that header. */
  readonly trustedProxies: number;
};

/**
 * The address to count a sender by; null when it cannot be known. IPv6 counts by its /64, the least that one site is
 * given (RFC 6177, section 2), and IPv4 inside of IPv6 as IPv4. What a sender wrote into the header himself is never
 * believed: only the entry of the outermost trusted proxy is, and where that is missing or no address, the socket.
 */
export function readClientIp({ peer, forwardedFor, trustedProxies }: ForwardedFor): string | null {
  if (peer === undefined) return null;
  const entries = forwardedFor?.split(',') ?? [];
  const entry = trustedProxies > 0 ? entries.at(-trustedProxies) : undefined;
  return normalize(withoutPort(entry?.trim() ?? '')) ?? normalize(peer);
}

/** Some proxies write `192.0.2.1:4711` and `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  return entry.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1');
}

function normalize(address: string): string | null {
  if (isIP(address) === 4) return address;
  const [ipv6 = ''] = address.split('%'); // without the zone
  if (isIP(ipv6) !== 6) return null;
  const groups = groupsOf(ipv6);
  const isMapped = groups.slice(0, 6).join(':') === '0:0:0:0:0:ffff';
  return isMapped ? toIPv4(groups.slice(6)) : `${groups.slice(0, 4).join(':')}::/64`;
}

/** All eight groups in lower case and without leading zeros, as URLs write them (RFC 5952). */
function groupsOf(ipv6: string): readonly string[] {
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
