import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSandbox } from '../../src/testing/create-sandbox.ts';
import { launchChromium, newPage } from '../helpers/browser.ts';
import { ask, gatewayOver, onPort } from '../helpers/gateway.ts';
import { type KeytrailProcess, startKeytrail } from '../helpers/process.ts';
import { serve } from '../helpers/serve.ts';
import { startService } from '../helpers/service.ts';

/** The package of the client as it is published. `npm ci` builds it. */
const CLIENT = readFileSync(new URL('../../dist/keytrail-client/index.js', import.meta.url));

/** A page with a session. `logIn` reports what its user would see. */
const page = (url: string) => `<!doctype html><title>Session</title>
<script type="module">
  import { AuditDocument, AuditEventsDocument, createSession, DeleteApiKeyDocument } from './client.js';

  const session = createSession({
    url: '${url}',
    clientId: 'demo-admin',
    clientSecret: 'demo-admin-secret-5f2c9a71',
  });
  const toOutcome = (promise) =>
    promise.then(
      () => ({ name: 'success' }),
      ({ name, message, isRetryable }) => ({ name, message, isRetryable }),
    );
  window.logIn = () => toOutcome(session.token());

  const tokens = { accessToken: 'saved', refreshToken: null, expiresAt: null };
  const withToken = createSession({
    url: '${url}',
    clientId: 'demo-admin',
    tokens: { load: () => tokens, save: () => {} },
  });
  window.read = () => toOutcome(withToken.request(AuditDocument, {}));
  window.remove = () => toOutcome(withToken.request(DeleteApiKeyDocument, { clientId: 'a' }));
  window.follow = () => toOutcome(withToken.follow(AuditEventsDocument, {}).next());
</script>`;

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
}, 60_000);
afterAll(() => browser.close());

type Outcome = Readonly<Record<'name' | 'message' | 'isRetryable', unknown>>;

/** What the origin of a page responds: a text, or a redirect. For null, the connection is lost. */
type Reply = string | null | { readonly status: number; readonly location: string };

/** Serves the page, and opens it. `graphql` responds to requests to its own origin. */
async function openPage(url: string, graphql = (_: string): Reply => null) {
  const site = await serve((request, response) => {
    const isClient = request.url === '/client.js';
    if (request.url === '/graphql') {
      text(request).then((sent) => {
        const reply = graphql(sent);
        if (reply === null) response.destroy();
        else if (typeof reply === 'string') response.end(reply);
        else response.writeHead(reply.status, { location: reply.location }).end();
      });
      return;
    }
    response.setHeader('content-type', isClient ? 'text/javascript' : 'text/html');
    response.end(isClient ? CLIENT : page(url));
  });
  const opened: Page = await newPage(browser);
  await opened.goto(site.url);
  await opened.waitForFunction('window.logIn');
  return {
    origin: site.url,
    logIn: (): Promise<Outcome> => opened.evaluate('logIn()'),
    run: (name: 'read' | 'remove' | 'follow'): Promise<Outcome> => opened.evaluate(`${name}()`),
    setOffline: (isOffline: boolean) => opened.context().setOffline(isOffline),
    [Symbol.asyncDispose]: async () => {
      await opened.context().setOffline(false);
      await opened.close();
      await site[Symbol.asyncDispose]();
    },
  };
}

/** A service, and a port on which gateways to it are started. */
async function startBehind() {
  const sent: unknown[] = [];
  const sandbox = await createSandbox({
    onRequest: ({ method, body }) => {
      sent.push([method, ...Object.keys(Object(body))]);
      return undefined;
    },
  });
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = Object(probe.address());
  probe.close();
  await once(probe, 'close');
  return {
    sent,
    url: `http://127.0.0.1:${port}/graphql`,
    start: async (CORS_ORIGINS: string): Promise<KeytrailProcess> => {
      const UPSTREAM_URL = sandbox.url;
      const keytrail = startKeytrail([], { PORT: `${port}`, UPSTREAM_URL, CORS_ORIGINS });
      await keytrail.until(/http:\/\/127\.0\.0\.1:\d+\/graphql/);
      return keytrail;
    },
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  };
}

const LOGIN = ['POST', 'client_id', 'client_secret'];

describe('a session in a page', () => {
  it('says that nothing was sent if CORS_ORIGINS lacks its origin, and logs in once it is there', async () => {
    await using behind = await startBehind();
    await using opened = await openPage(behind.url);
    await using refusing = await behind.start('https://other.example');
    const { name, message, isRetryable } = await opened.logIn();
    expect([name, isRetryable]).toEqual(['OperationError', true]);
    expect(message).toBe(
      `The gateway could not be reached from ${opened.origin}: nothing was sent, and no credential is used up. Check the connection, and that CORS_ORIGINS of the gateway has ${opened.origin}.`,
    );
    expect(behind.sent).toEqual([]);
    refusing.child.kill('SIGTERM');
    await refusing.status;
    await using _allowing = await behind.start(opened.origin);
    expect(await opened.logIn()).toEqual({ name: 'success' });
    expect(behind.sent).toEqual([LOGIN]);
  });

  it('says that nothing was sent if it is offline or the gateway is down, and logs in afterwards', async () => {
    await using behind = await startBehind();
    await using opened = await openPage(behind.url);
    expect((await opened.logIn()).message).toMatch(/nothing was sent/);
    await using _gateway = await behind.start(opened.origin);
    await opened.setOffline(true);
    expect((await opened.logIn()).message).toMatch(/nothing was sent/);
    await opened.setOffline(false);
    expect(behind.sent).toEqual([]);
    expect(await opened.logIn()).toEqual({ name: 'success' });
    expect(behind.sent).toEqual([LOGIN]);
  });

  it('gets the error of a gateway that is overloaded', async () => {
    const held = Promise.withResolvers<void>();
    await using service = await startService(async () => {
      await held.promise;
      return { body: [] };
    });
    await using behind = await startBehind();
    await using opened = await openPage(behind.url);
    const corsOrigins = [opened.origin];
    await using gateway = gatewayOver(service.url, { corsOrigins, maxInFlight: 1 });
    const port = Number(new URL(behind.url).port);
    await using _server = await onPort(gateway, { port, corsOrigins });
    using _ = { [Symbol.dispose]: held.resolve };
    const inFlight = ask(gateway, '{ audit { totalCount } }', {}, { token: 't' });
    await expect.poll(() => service.seen.length).toBe(1);
    expect(await opened.logIn()).toMatchObject({
      ...{ name: 'OperationError', isRetryable: true },
      message: expect.stringContaining('The gateway is overloaded'),
    });
    held.resolve();
    expect((await inFlight).status).toBe(200);
  });

  it('does not name CORS_ORIGINS if the gateway has its own origin', async () => {
    await using opened = await openPage('/graphql');
    const { name, message } = await opened.logIn();
    expect(name).toBe('OperationError');
    expect(message).toMatch(/nothing was sent.* Check the connection\.$/);
  });

  it('does not send the credential again if the connection is lost after the login was sent', async () => {
    let requests = 0;
    await using opened = await openPage('/graphql', () => {
      requests += 1;
      return requests === 1 ? '{"data": {"__typename": "Query"}}' : null;
    });
    expect((await opened.logIn()).name).toBe('SessionLost');
    const sent = requests; // Chromium itself repeats a request whose connection was used before
    expect((await opened.logIn()).name).toBe('SessionLost');
    expect(requests).toBe(sent);
  });

  const ELSEWHERE =
    'The URL redirects elsewhere, which is not followed: use the URL of the gateway itself.';
  const allow = { 'access-control-allow-origin': '*', 'access-control-allow-headers': '*' };

  it.each([301, 302, 303, 307, 308])(
    'that gets a %i sends nothing where it leads to, and says that no credential was sent',
    async (status) => {
      await using other = await startService({ headers: allow, body: '{"data": {}}' });
      await using opened = await openPage('/graphql', () => ({
        ...{ status, location: `${other.url}/graphql` },
      }));
      const expected = {
        ...{ name: 'OperationError', isRetryable: false },
        message: `${ELSEWHERE} No credential was sent, and none is used up.`,
      };
      expect(await opened.logIn()).toEqual(expected);
      for (const name of ['read', 'remove', 'follow'] as const)
        expect(await opened.run(name)).toEqual(expected);
      expect(other.connections()).toBe(0);
    },
  );

  it.each([302, 307])(
    'whose operations get a %i after the check sends nothing where it leads to',
    async (status) => {
      await using other = await startService({ headers: allow, body: '{"data": {}}' });
      let operations = 0;
      await using opened = await openPage('/graphql', (sent) => {
        if (sent.includes('{ __typename }')) return '{"data": {"__typename": "Query"}}';
        operations += 1;
        return { status, location: `${other.url}/graphql` };
      });
      const login = await opened.logIn();
      expect(login).toMatchObject({ name: 'SessionLost' });
      expect(login.message).toContain(ELSEWHERE);
      expect(await opened.logIn()).toEqual(login);
      const deletion = await opened.run('remove');
      expect(deletion).toMatchObject({ name: 'OperationError', isRetryable: false });
      expect(deletion.message).toBe(
        `The mutation may have been carried out: check the audit trail before you repeat it. ${ELSEWHERE}`,
      );
      for (const name of ['read', 'follow'] as const)
        expect(await opened.run(name)).toEqual({ name: 'Error', message: ELSEWHERE });
      expect([operations, other.connections()]).toEqual([4, 0]);
    },
  );

  it('that gets a redirect from another origin sends nothing where it leads to', async () => {
    await using other = await startService({ headers: allow, body: '{"data": {}}' });
    await using gateway = await startService(({ method }) =>
      method === 'OPTIONS'
        ? { headers: allow }
        : { status: 307, headers: { ...allow, location: `${other.url}/graphql` } },
    );
    await using opened = await openPage(gateway.url);
    expect((await opened.logIn()).message).toContain(ELSEWHERE);
    expect(other.connections()).toBe(0);
  });
});
