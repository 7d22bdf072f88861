import { copyFile, readFile, stat, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { describe, expect, it } from 'vitest';
import { createTestbed, type Testbed } from '../../src/testing/testbed.ts';
import { createFolder, runTool } from './run-tool.ts';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const SOURCES = new URL('../helpers/resolve-to-sources.ts', import.meta.url).href;
const CLIENTS = [
  { clientId: 'admin', secret: 'secret-of-the-administrator' }, // the testbed's own login
  { clientId: 'assistant', secret: 'secret-of-the-assistant' },
];
const EVENTS = [
  { action: 'key.create', actor: 'admin', target: 'ci', occurredAt: '2026-11-20T12:00:00Z' },
  { action: 'key.rotate', actor: 'admin', target: 'ci', occurredAt: '2026-11-20T11:00:00Z' },
  { action: 'key.create', actor: 'admin', target: 'web', occurredAt: '2026-11-20T10:00:00Z' },
];
const MINUTE_MS = 60_000;

/** A folder with a copy of the server, and the packages that it imports. */
async function installServer(keytrail: Pick<Testbed, 'url'>) {
  const folder = await createFolder();
  await copyFile(path('../../examples/mcp/server.mjs'), join(folder.path, 'server.mjs'));
  await symlink(path('node_modules'), join(folder.path, 'node_modules'));
  const args = ['--import', SOURCES, join(folder.path, 'server.mjs')];
  const env = { KEYTRAIL_URL: keytrail.url, CLIENT_ID: 'assistant' };
  const readSession = async () =>
    JSON.parse(await readFile(join(folder.path, 'session.json'), 'utf8'));
  const logIn = (secret: string) =>
    runTool(
      folder.path,
      'env',
      ...Object.entries({ ...env, CLIENT_SECRET: secret }).map((pair) => pair.join('=')),
      ...[process.execPath, ...args, 'login'],
    );
  return { ...folder, args, env, logIn, readSession };
}

/** Starts the server as an assistant does, without the client secret. `printed` is all that it has sent and logged. */
async function startServer({ args, env }: Awaited<ReturnType<typeof installServer>>) {
  const transport = new StdioClientTransport({
    ...{ command: process.execPath, args, env, stderr: 'pipe' },
  });
  const client = new Client({ name: 'keytrail-test', version: '1.0.0' });
  const printed: string[] = [];
  transport.stderr?.on('data', (chunk: unknown) => printed.push(String(chunk)));
  await client.connect(transport);
  const call = async (input: Readonly<Record<string, unknown>>) => {
    const result = await client.callTool({ name: 'read_audit_trail', arguments: input });
    printed.push(JSON.stringify(result));
    const { isError = false, content } = result;
    expect(content).toEqual([{ type: 'text', text: expect.any(String) }]);
    const [{ text }] = Object(content);
    return { isError, text: String(text) };
  };
  const actionsOf = async (input: Readonly<Record<string, unknown>>) => {
    const { isError, text } = await call(input);
    expect(isError, text).toBe(false);
    return JSON.parse(text).nodes.map(({ action }: { readonly action: string }) => action);
  };
  const close = () => client.close();
  return { client, call, actionsOf, printed, [Symbol.asyncDispose]: close };
}

const calls = ({ requests }: Testbed) =>
  requests.map(({ method, path, headers, body }) => {
    const [kind] = Object.keys(Object(body)).filter((name) => name !== 'client_id');
    return [method, path, kind ?? headers.authorization].join(' ');
  });

describe('examples/mcp/server.mjs', () => {
  it('offers one tool, which only reads', async () => {
    await using keytrail = await createTestbed({ clients: CLIENTS, events: EVENTS });
    await using installed = await installServer(keytrail);
    await using server = await startServer(installed);
    const { tools } = await server.client.listTools();
    expect(tools).toMatchObject([
      {
        name: 'read_audit_trail',
        annotations: { readOnlyHint: true },
        inputSchema: { type: 'object', properties: { first: { maximum: 100, default: 20 } } },
      },
    ]);
    expect(keytrail.requests).toEqual([]);
  });

  it('reads pages and filters with a login of its own, and without the client secret', async () => {
    await using keytrail = await createTestbed({ clients: CLIENTS, events: EVENTS });
    await using installed = await installServer(keytrail);
    expect(await installed.logIn('secret-of-the-assistant')).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    });
    expect((await stat(join(installed.path, 'session.json'))).mode & 0o777).toBe(0o600);
    keytrail.sandbox.clearEvents(); // the login
    keytrail.addEvents(EVENTS);
    const { accessToken } = await installed.readSession();
    expect(accessToken).not.toBe(keytrail.accessToken);
    keytrail.requests.clear();

    await using server = await startServer(installed);
    const { text } = await server.call({ first: 2 });
    const { pageInfo, nodes } = JSON.parse(text);
    expect(nodes).toHaveLength(2);
    expect(nodes[0]).toEqual(expect.not.objectContaining({ raw: expect.anything() }));
    expect(await server.actionsOf({ after: pageInfo.endCursor })).toEqual(['key.create']);
    expect(await server.actionsOf({ target: 'ci', actions: ['key.rotate'] })).toEqual([
      'key.rotate',
    ]);
    expect(await server.actionsOf({ since: '2026-11-20T11:30:00Z' })).toEqual(['key.create']);
    expect(await server.actionsOf({ actor: 'nobody' })).toEqual([]);
    expect(new Set(calls(keytrail))).toEqual(new Set([`GET /api/v1/audit Bearer ${accessToken}`]));
  });

  it('renews a token that the service rejects, saves the new one, and prints neither', async () => {
    await using keytrail = await createTestbed({ clients: CLIENTS, events: EVENTS });
    await using installed = await installServer(keytrail);
    await installed.logIn('secret-of-the-assistant');
    const first = await installed.readSession();
    keytrail.requests.clear();
    keytrail.advance(16 * MINUTE_MS); // an access token of the sandbox lasts 15 minutes

    await using server = await startServer(installed);
    expect(await server.actionsOf({ target: 'web' })).toEqual(['key.create']);
    const second = await installed.readSession();
    expect(calls(keytrail)).toEqual([
      `GET /api/v1/audit Bearer ${first.accessToken}`,
      'POST /api/v1/auth/login refresh_token',
      `GET /api/v1/audit Bearer ${second.accessToken}`,
    ]);
    keytrail.respondNext({ status: 403 });
    await server.call({});
    const printed = server.printed.join('\n');
    expect(printed).toContain('key.create');
    for (const { accessToken, refreshToken } of [first, second])
      for (const token of [accessToken, refreshToken]) expect(printed).not.toContain(token);
  });

  it('reports the code and the advice of an error', async () => {
    await using keytrail = await createTestbed({ clients: CLIENTS, events: EVENTS });
    await using installed = await installServer(keytrail);
    await installed.logIn('secret-of-the-assistant');
    await using server = await startServer(installed);
    keytrail.respondNext({ status: 403 });
    expect(await server.call({})).toEqual({
      isError: true,
      text: 'FORBIDDEN: The service does not permit this operation: ask for the permission, or use another client.',
    });
  });

  it('reports that the gateway cannot be reached', async () => {
    const keytrail = await createTestbed({ clients: CLIENTS, events: EVENTS });
    await using installed = await installServer(keytrail);
    await installed.logIn('secret-of-the-assistant');
    await keytrail[Symbol.asyncDispose]();
    await using server = await startServer(installed);
    expect(await server.call({})).toEqual({ isError: true, text: 'fetch failed' });
  });

  it('refuses a wrong input before it sends anything', async () => {
    await using keytrail = await createTestbed({ clients: CLIENTS, events: EVENTS });
    await using installed = await installServer(keytrail);
    await using server = await startServer(installed);
    for (const input of [{ first: 0 }, { first: 101 }, { since: 'yesterday' }, { outcome: 'no' }]) {
      const { isError, text } = await server.call(input);
      expect(isError).toBe(true);
      expect(text).toContain('Input validation error');
    }
    expect(keytrail.requests).toEqual([]);
  });

  it('needs a login first, and says so', async () => {
    await using keytrail = await createTestbed({ clients: CLIENTS, events: EVENTS });
    await using installed = await installServer(keytrail);
    const { status, stderr } = await installed.logIn('wrong');
    expect(status).toBe(1);
    expect(stderr).toContain('OperationError: The login failed (UNAUTHENTICATED)');
    expect(stderr).not.toContain('wrong');
    await using server = await startServer(installed);
    expect(await server.call({})).toEqual({
      isError: true,
      text: 'No access token is accepted, and no refresh token is saved: the login needs `clientSecret`.',
    });
  });
});
