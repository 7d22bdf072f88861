/**
 * Builds the request of `gateway.fetch` from the parameters of `fetch`. `new Request(input)` would read private members,
 * which the requests of frameworks may lack: that of Next is a Proxy, that of Hono may only have the prototype.
 * @throws TypeError if the request is invalid, or if its body was read before.
 */
export function toRequest(input: Request | URL | string, init?: RequestInit): Request {
  if (typeof input === 'string' || !('headers' in input)) return new Request(input, init);
  const { url, method, headers, signal } = input;
  const isBodyNeeded = method === 'POST' && (init?.body ?? null) === null;
  if (isBodyNeeded && input.bodyUsed) throw new TypeError(USED);
  const body = isBodyNeeded ? input.body : null;
  // A variable, since the types of `RequestInit` lack `duplex`, which Node requires for a stream.
  const members = { method, headers: [...headers], signal, body, duplex: 'half' };
  return new Request(new Request(url, members), init);
}

const USED =
  'The program read the body before Keytrail: call `gateway.fetch` first, or read a `request.clone()` before it.';
