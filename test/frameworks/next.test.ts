import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { cp, mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { outsideEnvironment, packClone } from '../helpers/clone.ts';
import { codeOf } from '../helpers/gateway.ts';
import { startInstalled } from '../helpers/process.ts';
import { startService } from '../helpers/service.ts';
import { AUDIT, expectAbort, expectGraphql, post, startSlowService } from './graphql-over-http.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ENVIRONMENT = { NEXT_TELEMETRY_DISABLED: '1' };

async function run(cwd: string, command: string, ...args: readonly string[]): Promise<string> {
  const env = { ...outsideEnvironment(), ...ENVIRONMENT };
  return (await promisify(execFile)(command, args, { cwd, env })).stdout;
}

describe('the example of Next', () => {
  let folder: string;
  let built: string;

  // Installed as by users, from the packed package: Next's bundler must be able to read it.
  beforeAll(async () => {
    const scratch = await mkdtemp(join(tmpdir(), 'keytrail-next-'));
    folder = join(scratch, 'app');
    const names = ['app', 'package.json', 'package-lock.json', 'tsconfig.json'];
    for (const name of names)
      await cp(join(ROOT, 'examples/next', name), join(folder, name), { recursive: true });
    await mkdir(join(folder, 'app/health'));
    await writeFile(join(folder, 'app/health/route.ts'), PROGRAM);
    const tarball = await packClone(scratch);
    await run(folder, 'npm', 'install', '--no-audit', '--no-fund', tarball);
    built = await run(folder, 'npm', 'run', 'build'); // without UPSTREAM_URL
  }, 600_000);

  afterAll(() => rmSync(dirname(folder), { recursive: true }));

  /** Starts it on a free loopback port. */
  async function start(environment: Readonly<Record<string, string>>) {
    const args = ['start', '--hostname', '127.0.0.1', '--port', '0'];
    const env = { ...ENVIRONMENT, ...environment };
    const next = startInstalled(folder, join(folder, 'node_modules/.bin/next'), env, args);
    const [, url = ''] = await next.until(/Local: +(http:\S+).*Ready/s);
    return { ...next, url };
  }

  it('is built without settings, and responds when it is requested', () => {
    expect(built).toMatch(/ƒ \/graphql/);
  });

  it('serves GraphQL, with one gateway for all requests', async () => {
    await using service = await startSlowService();
    await using next = await start({ UPSTREAM_URL: service.url });
    const url = `${next.url}/graphql`;
    expect(service.connections()).toBe(0);
    await expectGraphql(url);
    expect(service.connections()).toBe(1);
    for (const method of ['HEAD', 'OPTIONS', 'PUT'])
      expect((await fetch(url, { method })).status, method).toBe(405);
    await expectAbort(url, service);
    expect(await (await fetch(`${next.url}/health`)).text()).toBe('the program');
    expect(next.output.stderr).not.toMatch(/uncaught|unhandled/i);
  });

  it('limits logins by the address that its reverse proxy has seen', async () => {
    await using service = await startSlowService();
    await using next = await start({ UPSTREAM_URL: service.url });
    const login = async (id: number, address: string) => {
      const query = `mutation { login(clientId: "${id}", credential: {clientSecret: "s"}) { raw } }`;
      const headers = { 'x-forwarded-for': `forged, ${address}` };
      return codeOf(await post(`${next.url}/graphql`, JSON.stringify({ query }), headers));
    };
    for (let id = 0; id < 30; id += 1)
      expect(await login(id, '192.0.2.1')).not.toBe('RATE_LIMITED');
    const sent = service.seen.length;
    expect(await login(30, '192.0.2.1')).toBe('RATE_LIMITED');
    expect(service.seen).toHaveLength(sent);
    expect(await login(30, '192.0.2.2')).not.toBe('RATE_LIMITED');
  });

  it('completes the requests in progress when it is stopped', async () => {
    const [requested, mayRespond] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await using service = await startService(async () => {
      requested.resolve();
      await mayRespond.promise;
      return { body: [] };
    });
    await using next = await start({ UPSTREAM_URL: service.url });
    const response = post(`${next.url}/graphql`, AUDIT);
    await requested.promise;
    next.child.kill('SIGTERM');
    const isOpen = () => {
      const socket = connect(Number(new URL(next.url).port), '127.0.0.1');
      return once(socket, 'connect').then(
        () => socket.destroy() !== undefined,
        () => false,
      );
    };
    await expect.poll(isOpen).toBe(false);
    mayRespond.resolve();
    expect((await response).data).toEqual({ audit: { totalCount: 0 } });
    await next.status; // it exits although nothing has disposed the gateway
  });
});

const PROGRAM = `export const GET = () => new Response('the program');\n`;
