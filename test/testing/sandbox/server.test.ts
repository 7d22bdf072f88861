import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createSandbox } from '../../../src/testing/create-sandbox.ts';

let clock = Date.UTC(2026, 10, 21, 12);

function start(file = ':memory:', strictLogin = false) {
  return createSandbox({
    strictLogin,
    host: '127.0.0.1',
    port: 0,
    file,
    now: () => new Date(clock),
    createToken: () => randomBytes(32).toString('base64url'),
  });
}

type Sandbox = Awaited<ReturnType<typeof start>>;

async function call(
  { url }: Sandbox,
  route: string,
  { token, body }: { token?: string | undefined; body?: unknown } = {},
) {
  const [method = '', path] = route.split(' ');
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }) },
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const json = text === '' ? undefined : JSON.parse(text);
  return { status: response.status, type: response.headers.get('content-type'), json };
}

const login = (sandbox: Sandbox, body: unknown) =>
  call(sandbox, 'POST /api/v1/auth/login', { body });

function firstLogin(sandbox: Sandbox, index = 0) {
  const { clientId, secret } = sandbox.clients[index] ?? { clientId: '', secret: '' };
  return login(sandbox, { client_id: clientId, client_secret: secret });
}

describe('the sandbox', () => {
  it('accepts a client’s secret and every refresh token again', async () => {
    await using sandbox = await start();
    const [{ clientId } = { clientId: '' }] = sandbox.clients;
    const logins = [await firstLogin(sandbox), await firstLogin(sandbox)];
    for (const { json } of [...logins, ...logins]) {
      const body = { client_id: clientId, refresh_token: json.refresh_token };
      expect((await login(sandbox, body)).status).toBe(200);
      const { status } = await call(sandbox, 'GET /api/v1/audit', { token: json.access_token });
      expect(status).toBe(200);
    }
  });

  it('with strictLogin accepts a client’s secret once, then each refresh token once', async () => {
    await using sandbox = await start(':memory:', true);
    const [{ clientId, secret } = { clientId: '', secret: '' }] = sandbox.clients;
    const refresh = (token: unknown) =>
      login(sandbox, { client_id: clientId, refresh_token: token });

    const first = await firstLogin(sandbox);
    expect(first).toMatchObject({ status: 200, json: { token_type: 'Bearer', expires_in: 900 } });
    expect((await login(sandbox, { client_id: clientId, client_secret: secret })).status).toBe(401);

    const second = await refresh(first.json.refresh_token);
    expect(second.status).toBe(200);
    expect((await refresh(first.json.refresh_token)).status).toBe(401);
    expect((await refresh(second.json.refresh_token)).status).toBe(200);
  });

  it.each([
    '{',
    'null',
    '[]',
    {},
    { client_id: 'demo-admin' },
    { client_id: 1, client_secret: 's' },
    { client_id: 'demo-admin', client_secret: 's', refresh_token: 'r' },
    { client_id: 'demo-admin', client_secret: 1 },
    `{"client_id":"${'x'.repeat(70_000)}","client_secret":"s"}`,
  ])('rejects the login %j with 400', async (body) => {
    await using sandbox = await start();
    const response = await login(sandbox, body);
    expect(response).toMatchObject({ status: 400, type: 'application/problem+json' });
  });

  it.each([
    ['GET /api/v1/audit', undefined],
    ['GET /api/v1/audit', 'wrong'],
    ['DELETE /api/v1/secrets/demo-old-ci', undefined],
    ['GET /api/v1/nothing', undefined],
  ])('rejects %s with the token %j with 401', async (route, token) => {
    await using sandbox = await start();
    expect(await call(sandbox, route, { token })).toMatchObject({
      status: 401,
      json: { type: 'about:blank', status: 401 },
    });
  });

  it('lets an access token expire after fifteen minutes', async () => {
    await using sandbox = await start();
    const { json } = await firstLogin(sandbox);
    const status = async () =>
      (await call(sandbox, 'GET /api/v1/audit', { token: json.access_token })).status;
    expect(await status()).toBe(200);
    clock += 900_000;
    expect(await status()).toBe(401);
  });

  it('deletes a key once, and its tokens with it', async () => {
    await using sandbox = await start();
    const { json: admin } = await firstLogin(sandbox);
    const { json: ci } = await firstLogin(sandbox, 2);
    const token = admin.access_token;
    const route = `DELETE /api/v1/secrets/${sandbox.clients[2]?.clientId}`;
    expect(await call(sandbox, route, { token })).toEqual({
      status: 204,
      type: null,
      json: undefined,
    });
    expect((await call(sandbox, route, { token })).status).toBe(404);
    expect((await call(sandbox, 'GET /api/v1/audit', { token: ci.access_token })).status).toBe(401);
    const again = { client_id: sandbox.clients[2]?.clientId, refresh_token: ci.refresh_token };
    expect((await login(sandbox, again)).status).toBe(401);
  });

  it('records every login and deletion, failed ones included, newest first', async () => {
    await using sandbox = await start();
    await login(sandbox, { client_id: 'nobody', client_secret: 's' });
    clock += 1000;
    const { json } = await firstLogin(sandbox);
    clock += 1000;
    const token = json.access_token;
    await call(sandbox, 'DELETE /api/v1/secrets/demo-old-ci', { token });
    clock += 1000;
    await call(sandbox, 'DELETE /api/v1/secrets/a%2Fb', { token });
    const trail = await call(sandbox, 'GET /api/v1/audit', { token });
    const { events, total } = trail.json;
    expect(total).toBe(events.length);
    expect(
      events
        .slice(0, 4)
        .map(({ action, actor, target, outcome }: (typeof events)[number]) => [
          action,
          actor.id,
          target.id,
          outcome,
        ]),
    ).toEqual([
      ['key.delete', 'demo-admin', 'a/b', 'failure'],
      ['key.delete', 'demo-admin', 'demo-old-ci', 'success'],
      ['client.login', 'demo-admin', 'demo-admin', 'success'],
      ['client.login', 'nobody', 'nobody', 'failure'],
    ]);
    expect(events[0]).toMatchObject({
      ip_address: '127.0.0.1',
      occurred_at: new Date(clock).toISOString(),
    });
  });

  it('starts with hundreds of records over ninety days, in order, with unique ids', async () => {
    await using sandbox = await start();
    const { json } = await firstLogin(sandbox);
    const { events } = (await call(sandbox, 'GET /api/v1/audit', { token: json.access_token }))
      .json;
    const times: number[] = events.map(({ occurred_at }: { occurred_at: string }) =>
      Date.parse(occurred_at),
    );
    expect(events.length).toBeGreaterThan(300);
    expect(times).toEqual([...times].sort((a, b) => b - a));
    const days = (clock - Math.min(...times)) / 86_400_000;
    expect(days).toBeGreaterThan(88);
    expect(days).toBeLessThan(91);
    expect(new Set(events.map(({ id }: { id: string }) => id)).size).toBe(events.length);
  });

  it('filters by repeated action parameters', async () => {
    await using sandbox = await start();
    const { json } = await firstLogin(sandbox);
    const route = 'GET /api/v1/audit?action=key.delete&action=key.create';
    const { events } = (await call(sandbox, route, { token: json.access_token })).json;
    expect(new Set(events.map(({ action }: { action: string }) => action))).toEqual(
      new Set(['key.delete', 'key.create']),
    );
  });

  it.each([
    ['GET /api/v1/nothing', 404],
    ['POST /api/v1/audit', 404],
    ['DELETE /api/v1/secrets/', 404],
    ['DELETE /api/v1/secrets/%ff', 400],
  ])('responds to %s with %i', async (route, status) => {
    await using sandbox = await start();
    const { json } = await firstLogin(sandbox);
    expect((await call(sandbox, route, { token: json.access_token })).status).toBe(status);
  });

  it('keeps its data in a file, without secrets or tokens in plain text', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'keytrail-'));
    try {
      const file = join(folder, 'data.sqlite');
      let refreshToken: string;
      let accessToken: string;
      {
        await using sandbox = await start(file, true);
        ({ refresh_token: refreshToken, access_token: accessToken } = (
          await firstLogin(sandbox)
        ).json);
      }
      await using sandbox = await start(file, true);
      expect((await firstLogin(sandbox)).status).toBe(401);
      const { status } = await login(sandbox, {
        client_id: 'demo-admin',
        refresh_token: refreshToken,
      });
      expect(status).toBe(200);
      const bytes = await readFile(file, 'latin1');
      for (const secret of [
        refreshToken,
        accessToken,
        ...sandbox.clients.map((client) => client.secret),
      ]) {
        expect(bytes).not.toContain(secret);
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('responds with 500 when onRequest fails, and may be disposed twice', async () => {
    const sandbox = await createSandbox({
      onRequest: ({ path }) => {
        if (path === '/throws') throw new Error('no');
        return { status: 99 };
      },
    });
    for (const path of ['/throws', '/wrong']) {
      const response = await fetch(`${sandbox.url}${path}`);
      expect(await response.json()).toMatchObject({ status: 500 });
    }
    await sandbox[Symbol.asyncDispose]();
    await sandbox[Symbol.asyncDispose]();
  });

  it('uses the default of an option that is undefined', async () => {
    const options = { host: undefined, port: undefined, file: undefined, now: undefined };
    // JavaScript, and TypeScript without exactOptionalPropertyTypes, allow it.
    await using sandbox = await createSandbox(options as object);
    expect(sandbox.url).toMatch(/^http:\/\/127\.0\.0\.1:/);
    expect((await firstLogin(sandbox)).status).toBe(200);
  });

  it('keeps serving when a client disconnects within a request', async () => {
    await using sandbox = await start();
    const { hostname, port } = new URL(sandbox.url);
    const socket = connect(Number(port), hostname);
    socket.write('POST /api/v1/auth/login HTTP/1.1\r\nhost: s\r\ncontent-length: 9\r\n\r\n{');
    await new Promise<void>((resolve) => socket.write(' ', () => resolve()));
    socket.resetAndDestroy();
    expect((await firstLogin(sandbox)).status).toBe(200);
  });
});
