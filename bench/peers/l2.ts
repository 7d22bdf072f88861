import { createServer, type ServerResponse } from 'node:http';
import { Pool } from 'undici';
import type { TrailRecord } from '../records.ts';
import { project } from './project.ts';

/*
 * L2, what is left of L0 when Keytrail's two questions are POSTed and answered by hand, with nothing else of a gateway:
 * the question is parsed, its document not looked at, and the answer is parsed, projected and written.
 */
const { UPSTREAM_URL = '', PORT } = process.env;
const pool = new Pool(UPSTREAM_URL, { connections: 64 });

type Variables = { readonly first?: number; readonly clientId?: string };

createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { variables } = JSON.parse(String(Buffer.concat(chunks)));
    pass(variables, request.headers.authorization, response);
  });
}).listen(Number(PORT), '127.0.0.1');

function pass(
  { first = 0, clientId }: Variables,
  authorization: string | undefined,
  response: ServerResponse,
): void {
  const chunks: Buffer[] = [];
  let status = 0;
  const isDeletion = clientId !== undefined;
  pool.dispatch(
    {
      path: isDeletion ? `/api/v1/secrets/${encodeURIComponent(clientId)}` : '/api/v1/audit',
      method: isDeletion ? 'DELETE' : 'GET',
      headers: { authorization },
    },
    {
      onRequestStart: () => {},
      onResponseStart: (_, code) => {
        status = code;
      },
      onResponseData: (_, chunk) => void chunks.push(chunk),
      onResponseEnd: () => {
        if (status >= 300) return answer(response, { errors: [{ message: String(status) }] });
        if (isDeletion) return answer(response, { data: { deleteApiKey: { outcome: 'DELETED' } } });
        const { events }: { readonly events: readonly TrailRecord[] } = JSON.parse(
          String(Buffer.concat(chunks)),
        );
        answer(response, { data: { audit: { nodes: events.slice(0, first).map(project) } } });
      },
      onResponseError: () => void response.destroy(),
    },
  );
}

function answer(response: ServerResponse, result: object): void {
  const text = JSON.stringify(result);
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  };
  response.writeHead(200, headers).end(text);
}
