import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answer, problem } from './api.ts';
import { DEMO_CLIENTS, type DemoClient } from './seed.ts';
import { openStore, type StoreOptions } from './store.ts';

/** Where the sandbox listens and what it remembers. */
export type SandboxOptions = StoreOptions & {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
};

/** A REST service that stands in for the real one, on a port of its own. */
export type Sandbox = AsyncDisposable & {
  /** Base address, without a slash at the end. */
  readonly url: string;
  /** Who can log in, while the database is new. */
  readonly clients: readonly DemoClient[];
};

/**
 * Starts the sandbox.
 * @throws what Node says when the port or the file cannot be had.
 */
export async function createSandbox({
  host,
  port,
  ...storeOptions
}: SandboxOptions): Promise<Sandbox> {
  const store = openStore(storeOptions);
  const server = createServer(async (request, response) => {
    const { status, headers, body } = await answer(store, request).catch((error) =>
      error instanceof URIError
        ? problem(400, 'The path is not encoded correctly.')
        : problem(500, 'The sandbox failed.'),
    );
    if (body === undefined) {
      response.writeHead(status, headers).end();
    } else {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify(body));
    }
  });
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    store[Symbol.dispose]();
    throw error;
  }
  const { address, family, port: actualPort } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${actualPort}`,
    clients: DEMO_CLIENTS,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      store[Symbol.dispose]();
    },
  };
}
