import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findPort } from '../helpers/serve.ts';

/** A response through nginx. */
export type ProxiedResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
};

/** A request to nginx: POST if there is a body, else GET. */
export type RequestOptions = {
  readonly path?: string;
  readonly body?: string | undefined;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** The client's address; by default a loopback one. */
  readonly localAddress?: string | undefined;
};

/** A running nginx. Disposing it stops it. */
export type Nginx = AsyncDisposable & {
  readonly url: string;
  send(options: RequestOptions): Promise<ProxiedResponse>;
  /** Returns a response whose body is still to be read. Destroying it disconnects. */
  open(options: RequestOptions): Promise<IncomingMessage>;
  /** Marks the first gateway as `down` and reloads, as before stopping it. */
  takeOutFirst(): Promise<void>;
  /** Returns the access log and the error log. */
  readLogs(): Promise<string>;
};

/** The text of deploy/nginx.conf. */
export const CONF = await read('../../deploy/nginx.conf');

/** Whether nginx is installed; if not, a line on stderr reports that its tests are skipped. */
export const hasNginx = spawnSync('nginx', ['-v']).error === undefined;
if (!hasNginx)
  process.stderr.write('Skipped: deploy/nginx.conf, because nginx is not installed.\n');

const CA = await read('../fixtures/tls/ca.pem');
const START_TIMEOUT_MS = 10_000;

/** Runs nginx in front of two gateways. Only addresses, ports and paths of the configuration are replaced. */
export async function startNginx(
  gateways: readonly [first: string, second: string],
  conf: string = CONF,
): Promise<Nginx> {
  const folder = await mkdtemp(join(tmpdir(), 'keytrail-nginx-'));
  const port = await findPort();
  const [first, second] = gateways.map((url) => new URL(url).host);
  const localConf = replaceAll(conf, {
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
  await writeFile(file, localConf);
  const child = spawn('nginx', ['-c', file, '-g', 'daemon off;'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const stderr = text(child.stderr);
  const exited = once(child, 'close');
  await Promise.race([waitForPort(port), exited]);
  if (child.exitCode !== null) throw new Error(`nginx did not start: ${await stderr}`);
  return {
    url: `https://127.0.0.1:${port}`,
    open: (options) => open(port, options),
    send: async (options) => {
      const response = await open(port, options);
      const { statusCode: status = 0, headers } = response;
      return { status, headers, body: await text(response) };
    },
    takeOutFirst: async () => {
      await writeFile(file, replaceAll(localConf, { [`server ${first}`]: `server ${first} down` }));
      child.kill('SIGHUP');
    },
    readLogs: async () =>
      (await readFile(join(folder, 'access.log'), 'utf8')) +
      (await readFile(join(folder, 'error.log'), 'utf8')),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM');
      await exited;
      await rm(folder, { recursive: true });
    },
  };
}

function read(path: string): Promise<string> {
  return readFile(new URL(path, import.meta.url), 'utf8');
}

/** @throws Error if a string to replace is missing: the test would otherwise run another configuration. */
function replaceAll(conf: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((result, [from, to]) => {
    if (!result.includes(from)) throw new Error(`deploy/nginx.conf does not have ${from}`);
    return result.replaceAll(from, to);
  }, conf);
}

/**
 * Waits until nginx accepts connections on a port.
 * @throws Error if it has not opened it after 10 s.
 */
export async function waitForPort(port: number): Promise<void> {
  const timeout = AbortSignal.timeout(START_TIMEOUT_MS);
  while (!timeout.aborted) {
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

async function open(
  port: number,
  { path = '/graphql', body, headers, localAddress }: RequestOptions,
): Promise<IncomingMessage> {
  const sent = request({
    host: '127.0.0.1',
    localAddress,
    port,
    path,
    ca: CA,
    checkServerIdentity: () => undefined, // Node would check against the Host header
    agent: false, // a new connection for each request
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json', ...headers },
  });
  sent.end(body);
  const [response] = await once(sent, 'response');
  return response;
}
