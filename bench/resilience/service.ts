import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  type ReceivedRequest,
  type ServiceResponse,
  startService,
} from '../../test/helpers/service.ts';

/**
 * Starts the REST service in a process of its own, on a free loopback port. It can fail in every way that a process
 * can.
 */
export async function startServiceProcess() {
  const counts = new Map<string, number>();
  const start = (port: string) =>
    fork(fileURLToPath(import.meta.url), [port], { execArgv: [] }).on('message', (message) => {
      const { received } = Object(message);
      if (received !== undefined) counts.set(received, (counts.get(received) ?? 0) + 1);
    });
  let child = start('0');
  const [message] = await once(child, 'message');
  const { url }: { readonly url: string } = message;

  const kill = async () => {
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
  };
  const command = async (name: string) => {
    child.send(name);
    await once(child, 'message');
  };
  return {
    url,
    /** Stops the process with SIGSTOP; its connections stay open. */
    pause: () => child.kill('SIGSTOP'),
    resume: () => child.kill('SIGCONT'),
    /** Ends the process with SIGKILL. */
    kill,
    /** Starts it again on the same port. */
    restart: async () => {
      child = start(new URL(url).port);
      await once(child, 'message');
    },
    /** Closes the port and all connections. */
    close: () => command('close'),
    listen: () => command('listen'),
    /** Adds an event to the trails of streams. */
    addEvent: () => command('add'),
    /** How often the service received each login and deletion, by request id. */
    received: (): ReadonlyMap<string, number> => counts,
    [Symbol.asyncDispose]: kill,
  };
}

/** Records in every trail. */
export const RECORDS = 20;
/** Least size of a large trail; its further records are all the same. */
export const LARGE_BYTES = 5_000_000;
/** Least size of a huge trail. */
export const HUGE_BYTES = 16_000_000;

/** Replaces the normal response. Returns nothing if it has dealt with the request itself. */
type Behaviour = (
  normal: ServiceResponse,
  response: ServerResponse,
  id: string,
  url: string,
) => ServiceResponse | undefined | Promise<ServiceResponse | undefined>;

/** Records of the trail of a stream, its newest. */
const TAIL = 100;

/** Events that were added to the trails of streams. */
let added = 0;

const failedIds = new Set<string>();

/** What enlarges trails, by its size: it takes 20 ms for each 5 MB. */
const fillers = new Map<number, Buffer>();

/** Sends a trail with the record of a filler until it has this size. */
function sendEnlarged(trail: unknown, bytes: number, response: ServerResponse): undefined {
  const filler = `,${JSON.stringify(trailOf('filler').events[0])}`;
  const rest =
    fillers.get(bytes) ?? Buffer.from(`${filler.repeat(Math.ceil(bytes / filler.length))}]}`);
  fillers.set(bytes, rest);
  response.writeHead(200, { 'content-type': 'application/json' });
  response.write(JSON.stringify(trail).replace(/\]\}$/, ''));
  response.end(rest);
}

/** The first attempt of each request fails. */
function firstTime(behave: Behaviour): Behaviour {
  return (normal, response, id, url) => {
    if (failedIds.delete(id)) return normal;
    failedIds.add(id);
    return behave(normal, response, id, url);
  };
}

const reset: Behaviour = (_, response) => {
  response.socket?.resetAndDestroy();
};

/** By the part of the request's id before the dot; any other gets the normal response. */
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  reset,
  'reset-once': firstTime(reset),
  500: () => ({ status: 500, body: { note: 'it failed' } }),
  503: () => ({ status: 503 }),
  '503-once': firstTime(() => ({ status: 503 })),
  html: () => ({ headers: { 'content-type': 'text/html' }, body: '<html><h1>It works' }),
  ssh: (_, response) => {
    response.socket?.end('SSH-2.0-OpenSSH_9.9\r\n');
  },
  truncate: ({ body }, response) => {
    const text = JSON.stringify(body);
    response.writeHead(200, { 'content-length': text.length });
    response.write(text.slice(0, text.length / 2), () => response.socket?.destroy());
  },
  drip: (_, response) => {
    response.writeHead(200);
    const dripping = setInterval(() => response.write(' '), 50);
    response.on('close', () => clearInterval(dripping));
  },
  late: async (normal) => {
    await wait(1000);
    return normal;
  },
  tail: (_, _response, id) => {
    const count = RECORDS + added;
    const first = Math.max(0, count - TAIL);
    const events = Array.from({ length: count - first }, (_, index) => ({
      id: `${id}.${first + index}`,
      occurred_at: new Date(Date.UTC(2026, 10, 21) + 1000 * (first + index)).toISOString(),
      action: 'key.delete',
    }));
    return { body: { events: events.reverse() } };
  },
  ordinary: async (normal) => {
    await wait(50);
    return normal;
  },
  slow: async (normal) => {
    await wait(5000);
    return normal;
  },
  hang: () => undefined,
  refused: async () => {
    await wait(2500);
    return { status: 401 };
  },
  // Tokens that do several things, as their query parameters say.
  worst: (normal, response, id, url) => {
    const name = new URL(url, 'http://service').searchParams.get('do') ?? '';
    const behave = BEHAVIOURS[name];
    return behave === undefined ? normal : behave(normal, response, id, url);
  },
  large: ({ body }, response) => sendEnlarged(body, LARGE_BYTES, response),
  huge: ({ body }, response) => sendEnlarged(body, HUGE_BYTES, response),
};

/** The beginning of tokens that are those of several requests. */
export const CLIENT_TOKEN = 'client.';

/** The request's id and its normal response, which contains the id. It is the token, unless several requests have that. */
function respond({ method, url, headers, body }: ReceivedRequest) {
  const token = headers.authorization?.replace('Bearer ', '') ?? '';
  const own = token.startsWith(CLIENT_TOKEN) ? String(headers['x-request-id']) : token;
  if (method === 'GET') return { id: own, normal: { body: trailOf(own) } };
  if (method === 'DELETE') {
    const deleted = decodeURIComponent(url.slice(url.lastIndexOf('/') + 1));
    return { id: own, normal: { body: { deleted, by: own } } };
  }
  const { client_id: id, client_secret } = JSON.parse(body);
  const tokens = { access_token: `access.${id}`, refresh_token: `refresh.${client_secret}` };
  return { id, normal: { body: tokens } };
}

function trailOf(id: string) {
  const events = Array.from({ length: RECORDS }, (_, index) => ({
    id: `${id}.${index}`,
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

/** The forked process. Sends the ids of logins and deletions, and its URL whenever it listens. */
async function serve(port: number): Promise<void> {
  const start = (at: number) => {
    const starting = startService(async (seen, response) => {
      (await starting).forget();
      const { id, normal } = respond(seen);
      if (seen.method !== 'GET') process.send?.({ received: id });
      const behave = BEHAVIOURS[id.split('.', 1).join()];
      return behave === undefined ? normal : behave(normal, response, id, seen.url);
    }, at);
    return starting;
  };
  let service = await start(port);
  process.once('disconnect', () => process.exit()); // the parent has exited
  process.on('message', async (message) => {
    if (message === 'add') added += 1;
    if (message === 'close') await service[Symbol.asyncDispose]();
    if (message === 'listen') service = await start(Number(new URL(service.url).port));
    process.send?.({ url: service.url });
  });
  process.send?.({ url: service.url });
}

if (import.meta.main) await serve(Number(process.argv[2]));
