/**
 * The headers of the client that each subgraph gets, by the names under which it gets them. Only Keytrail may have its
 * token, and the client's address, user agent and trace. The address is only copied: without a proxy that sets it before
 * this router, clients can choose it, and TRUSTED_PROXIES must be 0.
 */
const FORWARDED_HEADERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  keytrail: {
    authorization: 'authorization',
    'x-forwarded-for': 'x-forwarded-for',
    'user-agent': 'user-agent',
    traceparent: 'traceparent',
    tracestate: 'tracestate',
  },
};

/** Reads the headers that a subgraph gets, as far as the client sent them. */
export function readForwardedHeaders(
  subgraph: string,
  headers: Pick<Headers, 'get'>,
): Record<string, string> {
  const pairs = Object.entries(FORWARDED_HEADERS[subgraph] ?? {}).map(([name, sentAs]) => [
    name,
    headers.get(sentAs),
  ]);
  return Object.fromEntries(pairs.filter(([, value]) => value !== null));
}
