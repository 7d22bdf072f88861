import { type ListeningServer, listen } from '../http/http-server.ts';
import type { Gateway } from './create-gateway.ts';

/**
 * Serves a gateway on a free loopback port. Disposing the result finishes the requests in flight, for two seconds at most,
 * and closes the port.
 * @param corsOrigins Those of the gateway.
 */
export async function listenOnLoopback(
  gateway: Gateway,
  corsOrigins: readonly string[],
): Promise<ListeningServer> {
  const draining = new AbortController();
  const port = { host: '127.0.0.1', port: 0, draining, drainMs: 0, timeoutMs: 2000, corsOrigins };
  return await listen(gateway, port);
}
