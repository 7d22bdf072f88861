import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import type { ReceivedRequest, ServiceResponse } from '../../test/helpers/service.ts';

/** Deals with a request otherwise than well. */
type Behaviour = (
  well: ServiceResponse,
  response: ServerResponse,
  tag: string,
) => ServiceResponse | undefined | Promise<ServiceResponse | undefined>;

/** Records in every trail; those that a large one has besides are all the same. */
export const RECORDS = 20;
/** How many bytes a large trail has at least. */
export const LARGE_BYTES = 5_000_000;

/** The name that the load gave a request, and what is answered to it when all goes well. Both tell whose it is. */
export function deal({ method, url, headers, body }: ReceivedRequest): {
  readonly tag: string;
  readonly well: ServiceResponse;
} {
  const token = headers.authorization?.replace('Bearer ', '') ?? '';
  if (method === 'GET') return { tag: token, well: { body: trailOf(token) } };
  if (method === 'DELETE') {
    const deleted = decodeURIComponent(url.slice(url.lastIndexOf('/') + 1));
    return { tag: token, well: { body: { deleted, by: token } } };
  }
  const { client_id, client_secret } = JSON.parse(body);
  const answer = { access_token: `access.${client_id}`, refresh_token: `refresh.${client_secret}` };
  return { tag: client_id, well: { body: answer } };
}

function trailOf(tag: string) {
  const events = Array.from({ length: RECORDS }, (_, index) => ({
    id: `${tag}.${index}`,
    occurred_at: '2026-11-21T06:20:33.156Z',
    action: 'key.delete',
    actor: index % 2 === 0 ? 'even' : 'odd',
    target: 'staging',
    outcome: 'success',
    ip: '203.0.113.40',
    user_agent: 'reports/3.2 (python-httpx/0.28.1)',
  }));
  return { total: RECORDS, events };
}

const [record] = trailOf('filler').events;
const filler = `,${JSON.stringify(record)}`;
const FILLER = filler.repeat(Math.ceil(LARGE_BYTES / filler.length));

const failedOnce = new Set<string>();

const once =
  (behave: Behaviour): Behaviour =>
  (well, response, tag) => {
    if (failedOnce.delete(tag)) return well;
    failedOnce.add(tag);
    return behave(well, response, tag);
  };

const reset: Behaviour = (_, response) => {
  response.socket?.resetAndDestroy();
  return undefined;
};

/** By the first word of a request's name; all others are dealt with well. */
export const BEHAVIOURS: ReadonlyMap<string, Behaviour> = new Map<string, Behaviour>([
  ['reset', reset],
  ['reset-once', once(reset)],
  ['500', () => ({ status: 500, body: { note: 'it failed' } })],
  ['503', () => ({ status: 503 })],
  ['503-once', once(() => ({ status: 503 }))],
  ['html', () => ({ headers: { 'content-type': 'text/html' }, body: '<html><h1>It works' })],
  [
    'ssh',
    (_, response) => {
      response.socket?.end('SSH-2.0-OpenSSH_9.9\r\n');
      return undefined;
    },
  ],
  [
    'cut',
    ({ body }, response) => {
      const text = JSON.stringify(body);
      response.writeHead(200, { 'content-length': text.length });
      response.write(text.slice(0, text.length / 2), () => response.socket?.destroy());
      return undefined;
    },
  ],
  [
    'drip',
    (_, response) => {
      response.writeHead(200);
      const dripping = setInterval(() => response.write(' '), 50);
      response.on('close', () => clearInterval(dripping));
      return undefined;
    },
  ],
  [
    'late',
    async (well) => {
      await wait(1000);
      return well;
    },
  ],
  ['large', ({ body }) => ({ body: JSON.stringify(body).replace(/\]\}$/, `${FILLER}]}`) })],
]);
