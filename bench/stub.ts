import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { LARGE_TRAILS, LOADS } from './loads.ts';
import { makeTrail } from './records.ts';

/*
 * A stand-in for the service that costs next to nothing: HTTP/1.1 on bare sockets, with answers made beforehand.
 * Requests have no body; connections are kept, and what is pipelined is answered in its order. On stdout it says as
 * JSON on which loopback port it serves the trail of how many records. node:http takes three times as long.
 */

const DELETED = Buffer.from('HTTP/1.1 204 No Content\r\n\r\n');
const NOT_FOUND = toAnswer('404 Not Found', { detail: 'There is no such thing.' });
const UNAUTHORIZED = toAnswer('401 Unauthorized', { detail: 'The access token is missing.' });
const BAD_REQUEST = toAnswer('400 Bad Request', { detail: 'A request has no body here.' });

const ports: Record<string, number> = {};
for (const records of new Set([...LOADS.map((load) => load.records), ...LARGE_TRAILS])) {
  const events = makeTrail(records);
  const trail = toAnswer('200 OK', { events, total: events.length });
  const server = createServer({ noDelay: true }, (socket) => serve(socket, trail));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ports[records] = (server.address() as AddressInfo).port; // it listens on TCP
}
process.stdout.write(`${JSON.stringify(ports)}\n`);

function toAnswer(status: string, json: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(json));
  const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

function serve(socket: Socket, trail: Buffer): void {
  const send = createSender(socket);
  let rest = '';
  socket.on('error', () => {}); // a gateway that has read enough may hang up
  socket.on('data', (chunk) => {
    const heads = (rest + chunk.toString('latin1')).split('\r\n\r\n');
    rest = heads.pop() ?? '';
    for (const head of heads) {
      if (!HAS_BODY.test(head)) {
        send(answer(head, trail));
        continue;
      }
      socket.end(BAD_REQUEST); // where it ends is not looked for, so nothing after it can be read
      socket.removeAllListeners('data');
      return;
    }
  });
}

const PART = 2 ** 16;

/**
 * Sends one answer after the other, in parts as a stream does. A gateway that hangs up early is then not charged for
 * megabytes that the kernel took in one go.
 */
function createSender(socket: Socket): (answer: Buffer) => void {
  const waiting: Buffer[] = [];
  const pump = () => {
    const [answer] = waiting;
    if (answer === undefined || socket.destroyed) return;
    const isTaken = socket.write(answer.subarray(0, PART));
    if (answer.length > PART) waiting[0] = answer.subarray(PART);
    else waiting.shift();
    if (waiting.length === 0) return;
    if (isTaken) setImmediate(pump);
    else socket.once('drain', pump);
  };
  return (answer) => {
    if (waiting.push(answer) === 1) pump();
  };
}

const HAS_BODY = /\r\n(?:content-length: *0*[1-9]|transfer-encoding:)/i;
const HAS_TOKEN = /\r\nauthorization: *bearer +\S/i;
const READS = /^GET \/api\/v1\/audit[? ]/;
const DELETES = /^DELETE \/api\/v1\/secrets\/bench-\d+ /;

function answer(head: string, trail: Buffer): Buffer {
  if (!HAS_TOKEN.test(head)) return UNAUTHORIZED;
  if (READS.test(head)) return trail;
  return DELETES.test(head) ? DELETED : NOT_FOUND;
}
