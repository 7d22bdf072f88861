import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';

/** Serves a listener on a free loopback port, until it is disposed. */
export async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${Object(server.address()).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/**
 * Finds a free loopback port for a program that cannot choose one itself. Systems take the ports that `listen(0)` gets from
 * 32768 on: no other test gets this one before the program has it.
 */
export async function findPort(): Promise<number> {
  const port = randomInt(20_000, 32_768);
  const server = createServer().listen(port, '127.0.0.1');
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (!isFree) return findPort();
  server.close();
  await once(server, 'close');
  return port;
}
