/**
 * Headers of the client that Keytrail needs, and no other subgraph may have: its token, its address and its user agent. The
 * address is only copied: without a proxy that sets it before this router, clients can choose it, and TRUSTED_PROXIES must
 * be 0.
 */
export const FORWARDED_HEADERS = ['authorization', 'x-forwarded-for', 'user-agent'] as const;

/** Reads those headers that the client sent. */
export function readForwardedHeaders(headers: Pick<Headers, 'get'>): Record<string, string> {
  const pairs = FORWARDED_HEADERS.map((name) => [name, headers.get(name)]);
  return Object.fromEntries(pairs.filter(([, value]) => value !== null));
}
