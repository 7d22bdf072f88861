import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Metrics } from '../observability/metrics.ts';

/** What Prometheus is told. */
export type Exposition = Pick<Metrics, 'text' | 'contentType'>;

/** A port on loopback with nothing but `/metrics`. */
export type MetricsServer = AsyncDisposable & { readonly url: string };

/**
 * Serves metrics to whoever is on this machine.
 * @throws what Node says when the port cannot be had.
 */
export async function serveMetrics(metrics: Exposition, port: number): Promise<MetricsServer> {
  const server = createServer(async ({ method, url = '' }, response) => {
    if (!/^(?:GET|HEAD) \/metrics(?:\?|$)/.test(`${method} ${url}`)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': metrics.contentType });
    response.end(await metrics.text());
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening').catch((error: unknown) => {
    throw Object.assign(Object(error), { setting: 'METRICS_PORT' }); // else it is taken for the port of GraphQL
  });
  const address = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${address.port}/metrics`,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
