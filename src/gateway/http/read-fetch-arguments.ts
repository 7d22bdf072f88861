/** What a gateway needs of a `Request`. */
export type FetchRequest = Pick<Request, 'url' | 'method' | 'headers' | 'body' | 'signal'>;

/**
 * Reads the parameters of `fetch`. `new Request(input)` would read private members, which the requests of frameworks may
 * lack: that of Next is a Proxy, that of Hono may only have the prototype.
 * @throws TypeError if the request is invalid, or if its body was read before.
 */
export function readFetchArguments(
  input: Request | URL | string,
  init?: RequestInit,
): FetchRequest {
  if (typeof input === 'string' || !('headers' in input)) return read(input, init?.signal, init);
  const body = init?.body ?? (input.method === 'POST' ? input.body : null);
  if (body !== null && body === input.body && input.bodyUsed) throw new TypeError(USED);
  const { method = input.method, headers = [...input.headers] } = init ?? {};
  const signal = init?.signal === undefined ? input.signal : init.signal;
  if (input.signal) REQUESTS.set(input.signal, input); // a framework's request may lack it
  // A variable, since the types of `RequestInit` lack `duplex`, which Node requires for a stream.
  const members = { ...init, method, headers, signal, body, duplex: 'half' };
  return read(input.url, signal, members);
}

const USED =
  'The program read the body before Keytrail: call `gateway.fetch` first, or read a `request.clone()` before it.';

/**
 * Node aborts the signal of a `Request` only until the request is garbage (nodejs/undici#3644): each must live as long as
 * its signal. So the signal of our own request is not used, but the one that it was given.
 */
const REQUESTS = new WeakMap<AbortSignal, Request>();

function read(target: string | URL, given: AbortSignal | null | undefined, init?: RequestInit) {
  const { url, method, headers, body } = new Request(target, init);
  return { url, method, headers, body, signal: given ?? new AbortController().signal };
}
