import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type Dispatcher, Pool } from 'undici';
import type { TrailRecord } from '../loads.ts';

/*
 * Reverse proxies without a framework, by the first argument:
 * - `l0`: streams the body, the limit for a response that is passed on whole.
 * - `l1`: JSON.parse, the requested fields of the `first` records, JSON.stringify.
 * - `l2`: Keytrail's two operations as POST, without a GraphQL document: what JSON requests and responses leave of L0.
 */
const { UPSTREAM_URL = '', PORT } = process.env;
const pool = new Pool(UPSTREAM_URL, { connections: 64 });

const respond = { l0: stream, l1: project, l2: execute }[process.argv[2] ?? ''];
if (respond === undefined) throw new TypeError('The argument must be l0, l1 or l2.');
createServer(respond).listen(Number(PORT), '127.0.0.1');

function stream(request: IncomingMessage, response: ServerResponse): void {
  let body: Dispatcher.DispatchController | undefined;
  response.on('drain', () => body?.resume());
  response.on('close', () => {
    if (!response.writableFinished) body?.abort(new Error('The client has disconnected.'));
  });
  pool.dispatch(
    {
      path: request.url ?? '',
      method: request.method === 'DELETE' ? 'DELETE' : 'GET',
      headers: { authorization: request.headers.authorization },
    },
    {
      onRequestStart: (controller) => {
        body = controller;
      },
      onResponseStart: (_, status, headers) => void response.writeHead(status, headers),
      onResponseData: (controller, chunk) => {
        if (!response.write(chunk)) controller.pause();
      },
      onResponseEnd: () => void response.end(),
      onResponseError: () => void response.destroy(),
    },
  );
}

function project(request: IncomingMessage, response: ServerResponse): void {
  const [path = '', first = ''] = (request.url ?? '').split('?first=');
  callService(request, response, path, request.method === 'DELETE', (status, body) => {
    if (status === 200) send(response, { nodes: toNodes(body, Number(first)) });
    else response.writeHead(status).end();
  });
}

function execute(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { first, clientId } = JSON.parse(String(Buffer.concat(chunks))).variables;
    const isDeletion = clientId !== undefined;
    const path = isDeletion ? `/api/v1/secrets/${encodeURIComponent(clientId)}` : '/api/v1/audit';
    callService(request, response, path, isDeletion, (status, body) => {
      if (status >= 300) send(response, { errors: [{ message: String(status) }] });
      else if (isDeletion) send(response, { data: { deleteApiKey: { outcome: 'DELETED' } } });
      else send(response, { data: { audit: { nodes: toNodes(body, first) } } });
    });
  });
}

function callService(
  { headers: { authorization } }: IncomingMessage,
  response: ServerResponse,
  path: string,
  isDeletion: boolean,
  receive: (status: number, body: string) => void,
): void {
  const chunks: Buffer[] = [];
  let status = 0;
  pool.dispatch(
    { path, method: isDeletion ? 'DELETE' : 'GET', headers: { authorization } },
    {
      onRequestStart: () => {},
      onResponseStart: (_, code) => {
        status = code;
      },
      onResponseData: (_, chunk) => void chunks.push(chunk),
      onResponseEnd: () => receive(status, String(Buffer.concat(chunks))),
      onResponseError: () => void response.destroy(),
    },
  );
}

/** The first records with the fields of Keytrail's schema. */
function toNodes(trail: string, first: number): readonly unknown[] {
  const { events }: { readonly events: readonly TrailRecord[] } = JSON.parse(trail);
  return events.slice(0, first).map(({ id, action, actor, target, ...record }) => ({
    id,
    occurredAt: record.occurred_at,
    action,
    outcome: record.outcome === 'success' ? 'SUCCESS' : 'FAILURE',
    ipAddress: record.ip_address,
    userAgent: record.user_agent,
    actor: { id: actor.id, name: actor.name, type: actor.type },
    target: { id: target.id, name: target.name, type: target.type },
  }));
}

function send(response: ServerResponse, result: object): void {
  const body = JSON.stringify(result);
  const length = Buffer.byteLength(body);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': length });
  response.end(body);
}
