import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** Where a connection is cut: after so many payloads, or so many bytes after the beginning of the last of them. */
export type Cut = { readonly payloads: number; readonly bytes: number | null };

/** The index in a response at which it is cut. -1 if it is not that long. */
function endOf(response: string, { payloads, bytes }: Cut): number {
  let start = -1;
  for (let count = 0; count < payloads; count += 1) {
    start = response.indexOf('event: next', start + 1);
    if (start < 0) return -1;
  }
  if (bytes !== null) return response.length < start + bytes ? -1 : start + bytes;
  const end = response.indexOf('\n\n', start);
  return end < 0 ? -1 : end + 2;
}

/** A loopback port that leads to another one. It cuts each connection where `nextCut` says, unless that is null. */
export async function startCutter(target: string, nextCut: () => Cut | null) {
  const sockets = new Set<Socket>();
  let isCut = false; // the last connection
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    return socket;
  };
  const server = createServer((socket) => {
    const client = keep(socket);
    const gateway = keep(connect(Number(new URL(target).port), '127.0.0.1'));
    const cut = nextCut();
    isCut = false;
    let response = ''; // in Latin-1: one character for each byte
    gateway.on('data', (chunk: Buffer) => {
      const { length } = response;
      response += chunk.toString('latin1');
      const end = cut === null ? -1 : endOf(response, cut);
      if (end < 0) {
        client.write(chunk);
        return;
      }
      isCut = true;
      gateway.destroy();
      client.end(chunk.subarray(0, end - length), () => client.destroy());
    });
    gateway.once('close', () => client.end());
    client.once('close', () => gateway.destroy());
    client.pipe(gateway);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // of a server that listens on a port
  return {
    url: `http://127.0.0.1:${port}`,
    /** Whether the last connection was cut. */
    isCut: () => isCut,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
