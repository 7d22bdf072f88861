import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Pool } from 'undici';
import type { TrailRecord } from '../records.ts';
import { project } from './project.ts';

/* L1: as L0, but the trail is parsed, cut to `first` of its own URL and to the fields that are wanted, and written. */
const { UPSTREAM_URL = '', PORT } = process.env;
const pool = new Pool(UPSTREAM_URL, { connections: 64 });

createServer((request, response) => {
  pass(request, response).catch(() => response.destroy());
}).listen(Number(PORT), '127.0.0.1');

async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path = '', query = ''] = (request.url ?? '').split('?first=');
  const { statusCode, body } = await pool.request({
    path,
    method: request.method === 'DELETE' ? 'DELETE' : 'GET',
    headers: { authorization: request.headers.authorization },
  });
  if (statusCode !== 200) {
    await body.dump();
    response.writeHead(statusCode).end();
    return;
  }
  const { events } = (await body.json()) as { readonly events: readonly TrailRecord[] }; // as the service documents it
  const text = JSON.stringify({ nodes: events.slice(0, Number(query)).map(project) });
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}
