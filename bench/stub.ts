import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { LOADS, makeTrail, PAGES } from './loads.ts';

/*
 * The REST service as a stub: HTTP/1.1 on bare sockets with prepared responses, a third of the CPU time of node:http.
 * It supports keep-alive and pipelining, but no request bodies. Each trail has a loopback port. Writes the ports by
 * number of records to stdout, as JSON.
 */

const DELETED = Buffer.from('HTTP/1.1 204 No Content\r\n\r\n');
const NOT_FOUND = toResponse('404 Not Found', { detail: 'Not found.' });
const UNAUTHORIZED = toResponse('401 Unauthorized', { detail: 'The access token is missing.' });
const BAD_REQUEST = toResponse('400 Bad Request', { detail: 'The request must have no body.' });

const HAS_BODY = /\r\n(?:content-length: *0*[1-9]|transfer-encoding:)/i;
const HAS_TOKEN = /\r\nauthorization: *bearer +\S/i;
const READS = /^GET \/api\/v1\/audit[? ]/;
const DELETES = /^DELETE \/api\/v1\/secrets\/bench-\d+ /;

const PART_BYTES = 2 ** 16;

const ports: Record<string, number> = {};
for (const records of new Set([...LOADS, ...PAGES].map((load) => load.records))) {
  const trail = toResponse('200 OK', { events: makeTrail(records), total: records });
  const server = createServer({ noDelay: true }, (socket) => serve(socket, trail));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ports[records] = (server.address() as AddressInfo).port; // it listens on TCP
}
process.stdout.write(`${JSON.stringify(ports)}\n`);

function toResponse(status: string, json: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(json));
  const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

function serve(socket: Socket, trail: Buffer): void {
  const send = createSender(socket);
  let incomplete = '';
  socket.on('error', () => {}); // a gateway may close the connection early
  socket.on('data', (chunk) => {
    const heads = (incomplete + chunk.toString('latin1')).split('\r\n\r\n');
    incomplete = heads.pop() ?? '';
    for (const head of heads) {
      if (!HAS_BODY.test(head)) {
        send(respond(head, trail));
        continue;
      }
      socket.end(BAD_REQUEST); // the end of the body is unknown, so no later request can be read
      socket.removeAllListeners('data');
      return;
    }
  });
}

function respond(head: string, trail: Buffer): Buffer {
  if (!HAS_TOKEN.test(head)) return UNAUTHORIZED;
  if (READS.test(head)) return trail;
  return DELETES.test(head) ? DELETED : NOT_FOUND;
}

/**
 * Sends responses in order, in parts of 64 KB as a stream does. A gateway that closes the connection early is then not
 * charged for megabytes that the kernel accepted at once.
 */
function createSender(socket: Socket): (response: Buffer) => void {
  const queue: Buffer[] = [];
  const pump = () => {
    const [response] = queue;
    if (response === undefined || socket.destroyed) return;
    const isBelowHighWaterMark = socket.write(response.subarray(0, PART_BYTES));
    if (response.length > PART_BYTES) queue[0] = response.subarray(PART_BYTES);
    else queue.shift();
    if (queue.length === 0) return;
    if (isBelowHighWaterMark) setImmediate(pump);
    else socket.once('drain', pump);
  };
  return (response) => {
    if (queue.push(response) === 1) pump();
  };
}
