import { once } from 'node:events';
import { readFileSync } from 'node:fs';
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

/** Finds a free loopback port, for a program that cannot choose one itself. */
export async function findFreePort(): Promise<number> {
  await using server = await serve(() => {}, 0);
  return Number(new URL(server.url).port);
}

/** Reads a file of this folder. */
export function readLocal(file: string): string {
  return readFileSync(new URL(file, import.meta.url), 'utf8');
}

/** Runs a router as a program, on the port in `PORT` or 4100, until SIGTERM or SIGINT. */
export async function runRouter(
  name: string,
  start: (port: number) => Promise<Running>,
): Promise<void> {
  const running = await start(Number(process.env['PORT'] ?? 4100));
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => void running[Symbol.asyncDispose]());
  process.stdout.write(`${name}: ${running.url}\n`);
}
