import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server on a loopback port. Disposing it closes the port and its connections. */
export type Running = AsyncDisposable & {
  /** The GraphQL URL. */
  readonly url: string;
};

/** The options of a router. */
export type RouterOptions = {
  /** The supergraph SDL from a composer. */
  readonly supergraphSdl: string;
  /** A loopback port; 0 chooses a free one. */
  readonly port: number;
};

/** Serves a request listener on a loopback port; 0 chooses a free one. */
export async function serve(listener: RequestListener, port: number): Promise<Running> {
  const server = createServer(listener).listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${address.port}/graphql`,
    [Symbol.asyncDispose]: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
