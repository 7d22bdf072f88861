import type { RequestInit, Response } from 'undici';
import { proxyRefusalOf } from '../upstream/http-request.ts';
import { createProxyAgent } from '../upstream/pool.ts';

/** The bound of each step of connecting, in milliseconds: undici's own. */
const CONNECT_MS = 10_000;

/**
 * Creates a `fetch` that sends its requests through a proxy. Node's own takes none. Disposing the result closes the
 * connections.
 */
export function fetchThrough(proxy: string): AsyncDisposable & {
  fetch(url: string, init: RequestInit): Promise<Response>;
} {
  const agent = createProxyAgent(proxy, CONNECT_MS);
  return {
    fetch: async (url, init) => {
      const { fetch } = await import('undici/lib/web/fetch/index.js');
      return fetch(url, { ...init, dispatcher: agent }).catch((error) => {
        const { cause } = Object(error);
        const causes = [cause, Object(cause).cause].filter((each) => each instanceof Error);
        const code = causes.map(proxyRefusalOf).find(Boolean) ?? Object(cause).code;
        if (typeof code !== 'string') throw error; // aborted
        throw new TypeError('fetch failed', { cause: { code, isThroughProxy: true } });
      });
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}
