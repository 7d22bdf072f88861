import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { createSandbox } from '../../src/testing/create-sandbox.ts';
import { launchChromium, newPage } from '../helpers/browser.ts';
import { type KeytrailProcess, startKeytrail } from '../helpers/process.ts';
import { findPort, serve } from '../helpers/serve.ts';

/** For how long events arrive. A minute shows more. */
const SECONDS = Number(process.env['FOLLOW_SECONDS'] ?? 20);
const EVERY_MS = 200;

/** The package of the client as it is published. `npm ci` builds it. */
const CLIENT = readFileSync(new URL('../../dist/keytrail-client/index.js', import.meta.url));

/** A page of another origin than the gateway, which follows the trail and lists its events. */
const page = (url: string) => `<!doctype html><title>Trail</title><h1>Connecting</h1><ul></ul>
<script type="module">
  import { AuditEventsDocument, createSession } from './client.js';

  const [state] = document.getElementsByTagName('h1');
  const [list] = document.getElementsByTagName('ul');
  const session = createSession({
    url: '${url}',
    clientId: 'demo-admin',
    clientSecret: 'demo-admin-secret-5f2c9a71',
  });
  const filter = { actions: ['page.view'] };
  const onRetry = () => {
    state.textContent = 'Reconnecting';
    document.body.dataset.retries = 1 + Number(document.body.dataset.retries ?? 0);
  };
  for await (const batch of session.follow(AuditEventsDocument, { filter, every: 5 }, { onRetry })) {
    state.textContent = 'Following';
    if (batch.missed) document.body.dataset.missed = 'true';
    for (const { target } of batch.nodes) {
      const item = document.createElement('li');
      item.textContent = target.identifier;
      list.append(item);
    }
  }
</script>`;

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
}, 60_000);
afterAll(() => browser.close());

it(`a page follows the trail for ${SECONDS} s over a stop and a crash of the gateway: no event is lost or shown twice`, {
  timeout: 1000 * SECONDS + 90_000,
}, async () => {
  await using sandbox = await createSandbox();
  const port = await findPort();
  await using site = await serve((request, response) => {
    const isClient = request.url === '/client.js';
    response.setHeader('content-type', isClient ? 'text/javascript' : 'text/html');
    response.end(isClient ? CLIENT : page(`http://127.0.0.1:${port}/graphql`));
  });
  const start = async (): Promise<KeytrailProcess> => {
    const UPSTREAM_URL = sandbox.url;
    const keytrail = startKeytrail([], { PORT: `${port}`, UPSTREAM_URL, CORS_ORIGINS: site.url });
    await keytrail.until(/http:\/\/127\.0\.0\.1:\d+\/graphql/);
    return keytrail;
  };

  await using keytrail = await start();
  const opened = await newPage(browser);
  const errors = watchErrors(opened);
  await opened.goto(site.url);
  await opened.getByText('Following').waitFor();

  const added: string[] = [];
  const addEvents = async (seconds: number) => {
    for (let count = 0; count < (1000 * seconds) / EVERY_MS; count += 1) {
      const target = `view-${added.length}`;
      added.push(target);
      sandbox.addEvents([{ action: 'page.view', target }]);
      await wait(EVERY_MS);
    }
  };
  await addEvents(SECONDS / 3);
  keytrail.child.kill('SIGTERM');
  expect(await keytrail.status).toBe(0);
  await addEvents(1);
  await using second = await start();
  await addEvents(SECONDS / 3);
  second.child.kill('SIGKILL');
  await second.status;
  await addEvents(1);
  await using _third = await start();
  await addEvents(SECONDS / 3);

  const shown = () => opened.locator('li').allInnerTexts();
  await vi.waitFor(async () => expect(await shown()).toContain(added.at(-1)), 60_000);
  expect(await shown()).toEqual(added);
  const { retries, missed } = await opened.evaluate(() => ({ ...document.body.dataset }));
  expect(Number(retries)).toBeGreaterThanOrEqual(2);
  expect(missed).toBeUndefined();
  expect(errors()).toEqual([]);
});

/** The errors of a page, but for connections that are refused while the gateway is down, or cut by its crash. */
function watchErrors(opened: Page): () => readonly string[] {
  const errors: string[] = [];
  opened.on('pageerror', ({ message }) => errors.push(message));
  opened.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  return () => errors.filter((text) => !/net::ERR_/.test(text));
}
