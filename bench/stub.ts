import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { LOADS, makeTrail, PAGES, TIME_FORMATS, toTrail } from './loads.ts';

/*
 * The REST service as a stub: HTTP/1.1 on bare sockets with prepared responses, a third of the CPU time of node:http.
 * It supports keep-alive and pipelining, but no request bodies. The token starts with the number of records of the
 * trail, and may name the format of its times. Writes its URL to stdout.
 */

const DELETED = Buffer.from('HTTP/1.1 204 No Content\r\n\r\n');
const NOT_FOUND = toResponse('404 Not Found', { detail: 'Not found.' });
const UNAUTHORIZED = toResponse('401 Unauthorized', { detail: 'The access token is missing.' });
const TRAILS = new Map(
  [...LOADS, ...PAGES].map(({ records }) => [
    String(records),
    toResponse('200 OK', toTrail(records)),
  ]),
);

for (const [name, format] of Object.entries(TIME_FORMATS)) {
  const events = makeTrail(20_000).map(({ occurred_at, ...event }) => ({
    ...event,
    occurred_at: format(occurred_at),
  }));
  TRAILS.set(`20000-${name}`, toResponse('200 OK', { events, total: events.length }));
}

const compact = makeTrail(100_000).map(({ id, occurred_at, action }) => ({
  id,
  occurred_at,
  action,
}));
TRAILS.set('100000-compact', toResponse('200 OK', { events: compact }));

const TOKEN = /\r\nauthorization: *bearer +(\d+-[a-z]\w+|\d+(?=-))/i;
const READS = /^GET \/api\/v1\/audit[? ]/;
const DELETES = /^DELETE \/api\/v1\/secrets\/bench-\d+ /;

const PART_BYTES = 2 ** 16;

const server = createServer({ noDelay: true }, serve).listen(0, '127.0.0.1');
await once(server, 'listening');
process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}`); // it listens on TCP

function toResponse(status: string, json: unknown): Buffer {
  const body = JSON.stringify(json);
  return Buffer.from(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function respond(head: string): Buffer {
  const trail = TRAILS.get(TOKEN.exec(head)?.[1] ?? '');
  if (trail === undefined) return UNAUTHORIZED;
  if (READS.test(head)) return trail;
  return DELETES.test(head) ? DELETED : NOT_FOUND;
}

/**
 * Sends responses in order, in parts of 64 KB as a stream does. A gateway that closes the connection early is then not
 * charged for megabytes that the kernel accepted at once.
 */
function serve(socket: Socket): void {
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
  let incomplete = '';
  socket.on('error', () => {}); // a gateway may close the connection early
  socket.on('data', (chunk) => {
    const heads = (incomplete + chunk.toString('latin1')).split('\r\n\r\n');
    incomplete = heads.pop() ?? '';
    for (const head of heads) {
      if (queue.push(respond(head)) === 1) pump();
    }
  });
}
