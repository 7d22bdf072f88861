import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toUrl } from '../http/http-server.ts';
import { createMetrics, type Metrics } from '../observability/metrics.ts';

/** An HTTP server that serves `/metrics` and nothing else, and what its metrics observe. */
export type MetricsServer = AsyncDisposable & Pick<Metrics, 'observer'> & { readonly url: string };

/**
 * Creates metrics and serves them. Port 0 picks a free one.
 * @throws Node's error if it cannot listen there, with the names of both settings in the property `settings`.
 */
export async function serveMetrics(host: string, port: number): Promise<MetricsServer> {
  const metrics = createMetrics();
  const server = createServer(async ({ method, url = '' }, response) => {
    if (!/^(?:GET|HEAD) \/metrics(?:\?|$)/.test(`${method} ${url}`)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': metrics.contentType });
    response.end(await metrics.text());
  });
  server.listen(port, host);
  await once(server, 'listening').catch((error: unknown) => {
    const settings = { host: 'METRICS_HOST', port: 'METRICS_PORT' }; // the message would name HOST and PORT otherwise
    throw Object.assign(Object(error), { settings });
  });
  return {
    observer: metrics.observer,
    url: `${toUrl(server.address() as AddressInfo)}/metrics`, // it listens on TCP
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
