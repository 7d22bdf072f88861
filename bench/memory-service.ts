import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { makeTrail } from './loads.ts';

/** Bytes of the trail that many read at once. */
export const TRAIL_BYTES = 7_000_000;
/** Slightly less than the default of UPSTREAM_MAX_BYTES. */
export const LARGEST_BYTES = 33_500_000;

/** Of empty objects: nearly ten million. */
export const EMPTY_BYTES = 28_000_002;
/** Of the trail that arrives byte by byte. */
export const PIECES_BYTES = 2_000_000;

const PART_BYTES = 2 ** 16;
const PIECE = '1\r\n \r\n'; // a chunk of one byte
const PIECE_AT = 3;

/** Starts the service in a process of its own. Disposing it kills it. */
export async function startMemoryService() {
  const child = fork(fileURLToPath(import.meta.url), [], { execArgv: [] });
  const [url] = await once(child, 'message');
  return {
    url: String(url),
    [Symbol.asyncDispose]: async () => {
      const closed = once(child, 'close');
      child.kill('SIGKILL');
      await closed;
    },
  };
}

/** A JSON list of records, newest first, of at most these bytes. */
function listOf(bytes: number, isOldestFirst = false): Buffer {
  const records: string[] = [];
  let size = 2;
  for (const record of makeTrail(Math.ceil(bytes / 250))) {
    const json = JSON.stringify(record);
    size += Buffer.byteLength(json) + 1;
    if (size > bytes) break;
    records.push(json);
  }
  return Buffer.from(`[${(isOldestFirst ? records.reverse() : records).join()}]`);
}

type Respond = (response: ServerResponse, body: Buffer) => void;

const withLength: Respond = (response, body) => {
  response.setHeader('content-length', body.length);
  response.end(body);
};

const chunked: Respond = (response, body) => {
  Readable.from(partsOf(body)).pipe(response);
};

function* partsOf(body: Buffer) {
  for (let at = 0; at < body.length; at += PART_BYTES) yield body.subarray(at, at + PART_BYTES);
}

/** Every byte is a chunk: six bytes on the connection. */
const inPieces: Respond = async (response, body) => {
  response.setHeader('connection', 'close');
  response.flushHeaders();
  const { socket } = response;
  if (socket === null) return;
  for (const part of partsOf(body)) {
    const pieces = Buffer.from(PIECE.repeat(part.length));
    for (const [at, byte] of part.entries()) pieces[at * PIECE.length + PIECE_AT] = byte;
    if (!(await write(socket, pieces))) return;
  }
  socket.end('0\r\n\r\n');
};

/** Resolves once more may be written, to false if the gateway has closed the connection. */
async function write(socket: Socket, bytes: Buffer): Promise<boolean> {
  if (!socket.write(bytes) && !socket.destroyed)
    await Promise.race([once(socket, 'drain'), once(socket, 'close')]).catch(() => {});
  return !socket.destroyed;
}

/** The response, by the part of the token before the dot. */
const RESPONSES: Readonly<Record<string, readonly [Respond, () => Buffer]>> = {
  small: [withLength, () => listOf(3000)],
  'content-length': [withLength, () => listOf(TRAIL_BYTES)],
  chunked: [chunked, () => listOf(TRAIL_BYTES)],
  oldest: [withLength, () => listOf(TRAIL_BYTES, true)],
  pieces: [inPieces, () => listOf(PIECES_BYTES)],
  'largest-pieces': [inPieces, () => listOf(LARGEST_BYTES)],
  records: [withLength, () => listOf(LARGEST_BYTES)],
  empty: [withLength, () => Buffer.from(`[${'{},'.repeat(EMPTY_BYTES / 3)}{}]`)],
};

async function serve(): Promise<void> {
  const bodies = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    request.resume();
    const [, name = ''] = /^Bearer ([\w-]+)\./.exec(request.headers.authorization ?? '') ?? [];
    const [respond, build] = RESPONSES[name] ?? [];
    if (respond === undefined || build === undefined) {
      response.writeHead(401).end();
      return;
    }
    const body = bodies.get(name) ?? build();
    bodies.set(name, body);
    response.setHeader('content-type', 'application/json');
    respond(response, body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  process.once('disconnect', () => process.exit()); // the parent has exited
  process.send?.(`http://127.0.0.1:${port}`);
}

if (import.meta.main) await serve();
