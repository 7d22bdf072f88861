import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createMetrics, type Metrics } from '../observability/metrics.ts';

/** An HTTP server on loopback that serves `/metrics` and nothing else, and what its metrics observe. */
export type MetricsServer = AsyncDisposable & Pick<Metrics, 'observer'> & { readonly url: string };

/**
 * Creates metrics and serves them on loopback. Port 0 picks a free one.
 * @throws Node's error if the port cannot be opened, with the property `setting`.
 */
export async function serveMetrics(port: number): Promise<MetricsServer> {
  const metrics = createMetrics();
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
    throw Object.assign(Object(error), { setting: 'METRICS_PORT' }); // the error message would name PORT otherwise
  });
  const address = server.address() as AddressInfo; // a TCP server has one
  return {
    observer: metrics.observer,
    url: `http://127.0.0.1:${address.port}/metrics`,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
