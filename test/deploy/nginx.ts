import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** What came back through nginx. */
export type Passed = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
};

/** A question to nginx: POST when there is a body. */
export type Question = {
  readonly path?: string;
  readonly body?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
};

/** A running nginx. Disposing it ends it. */
export type Nginx = AsyncDisposable & {
  send(question: Question): Promise<Passed>;
  /** Marks the first gateway as down and reloads, as one does before stopping it. */
  takeOutFirst(): Promise<void>;
  /** What it has logged so far, the log of errors too. */
  logged(): Promise<string>;
};

/** deploy/nginx.conf as it is. */
export const CONF = await read('../../deploy/nginx.conf');

/** Whether there is an nginx to run; says so when there is none. */
export const hasNginx = spawnSync('nginx', ['-v']).error === undefined;
if (!hasNginx)
  process.stderr.write('Skipped: deploy/nginx.conf, because nginx is not installed.\n');

const CA = await read('../fixtures/tls/ca.pem');
const STARTED_WITHIN_MS = 10_000;

/** Runs nginx over two gateways, with a configuration whose addresses, ports and paths alone are replaced. */
export async function startNginx(
  gateways: readonly [first: string, second: string],
  conf: string = CONF,
): Promise<Nginx> {
  const folder = await mkdtemp(join(tmpdir(), 'keytrail-nginx-'));
  const port = await findPort();
  const [first, second] = gateways.map((url) => new URL(url).host);
  const placed = replaceAll(conf, {
    '/run/nginx.pid': join(folder, 'nginx.pid'),
    '/var/log/nginx/': `${folder}/`,
    'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
    'server 10.0.0.11:4000': `server ${first}`,
    'server 10.0.0.12:4000': `server ${second}`,
    '/etc/nginx/tls/tls.crt': fileURLToPath(
      new URL('../fixtures/tls/service.pem', import.meta.url),
    ),
    '/etc/nginx/tls/tls.key': fileURLToPath(
      new URL('../fixtures/tls/service-key.pem', import.meta.url),
    ),
  });
  const file = join(folder, 'nginx.conf');
  await writeFile(file, placed);
  const child = spawn('nginx', ['-c', file, '-g', 'daemon off;'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const complaints = text(child.stderr);
  const ended = once(child, 'close');
  await Promise.race([untilOpen(port), ended]);
  if (child.exitCode !== null) throw new Error(`nginx did not start: ${await complaints}`);
  return {
    send: (question) => send(port, question),
    takeOutFirst: async () => {
      await writeFile(file, replaceAll(placed, { [`server ${first}`]: `server ${first} down` }));
      child.kill('SIGHUP');
    },
    logged: async () =>
      (await readFile(join(folder, 'access.log'), 'utf8')) +
      (await readFile(join(folder, 'error.log'), 'utf8')),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true });
    },
  };
}

function read(path: string): Promise<string> {
  return readFile(new URL(path, import.meta.url), 'utf8');
}

/** Each must be there, or the test would run something else than it says. */
function replaceAll(conf: string, places: Readonly<Record<string, string>>): string {
  return Object.entries(places).reduce((result, [from, to]) => {
    if (!result.includes(from)) throw new Error(`deploy/nginx.conf does not have ${from}`);
    return result.replaceAll(from, to);
  }, conf);
}

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  server.close();
  await once(server, 'close');
  return port;
}

async function untilOpen(port: number): Promise<void> {
  const giveUp = AbortSignal.timeout(STARTED_WITHIN_MS);
  while (!giveUp.aborted) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await wait(20);
  }
  throw new Error('nginx did not open its port');
}

async function send(port: number, { path = '/graphql', body, headers }: Question): Promise<Passed> {
  const asked = request({
    host: '127.0.0.1',
    port,
    path,
    ca: CA,
    checkServerIdentity: () => undefined, // it would go by the Host header
    agent: false, // each on a connection of its own
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', ...headers },
  });
  asked.end(body);
  const [response] = await once(asked, 'response');
  return { status: response.statusCode, headers: response.headers, body: await text(response) };
}
