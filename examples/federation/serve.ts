import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A server on a loopback port. Disposing it closes the port and its connections. */
export type Running = AsyncDisposable & {
  /** Where GraphQL is. */
  readonly url: string;
};

/** What a router needs to know. */
export type RouterOptions = {
  /** What a composer made. */
  readonly supergraphSdl: string;
  /** A port on loopback; 0 takes any free one. */
  readonly port: number;
};

/** Puts a listener on a loopback port; 0 takes any free one. */
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
