import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startKeytrail } from '../helpers/process.ts';

/** Debian's Chromium, without its background requests to Google. */
const LAUNCH = {
  executablePath: '/usr/bin/chromium',
  args: [
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
  ],
};

const PLAY = 'button[aria-label^="Execute"]';
const RESULT = '.result-window';

async function openTab(page: Page, name: string): Promise<void> {
  await page.locator('.graphiql-tab-button').getByText(name, { exact: true }).click();
  await page.waitForTimeout(500); // GraphiQL reads the operation of the tab after a debounce of 100 ms
}

/** Runs the operation, waits until the result contains a text, and returns the result. */
async function play(page: Page, expected: string): Promise<string> {
  await page.click(PLAY);
  // The editor renders spaces as no-break spaces.
  const readResult = async () => (await page.locator(RESULT).innerText()).replaceAll('\u00a0', ' ');
  await expect.poll(readResult, { timeout: 10_000 }).toContain(expected);
  return readResult();
}

describe('the playground', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch(LAUNCH);
  }, 60_000);
  afterAll(() => browser.close());

  it('runs the operations of all tabs in order, requests no other host and stores nothing', async () => {
    await using gateway = startKeytrail([], { PORT: '0' });
    const [, origin = ''] = await gateway.until(/(http:\/\/127\.0\.0\.1:\d+)\/graphql/);
    // The printed login must not use up the secret that the playground logs in with.
    const [, body = ''] = await gateway.until(/-d '(.*)'/);
    const headers = { 'content-type': 'application/json' };
    const printedLogin = await fetch(`${origin}/graphql`, { method: 'POST', headers, body });
    expect(await printedLogin.json()).toMatchObject({ data: { login: {} } });

    const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
    const requestedUrls: string[] = [];
    const authorizations: string[] = [];
    const errors: string[] = [];
    page.on('request', (request) => {
      requestedUrls.push(request.url());
      authorizations.push(request.headers()['authorization'] ?? '');
    });
    page.on('pageerror', ({ message }) => errors.push(message));
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text());
    });

    await page.goto(`${origin}/graphql`);
    await page.waitForSelector(PLAY);
    const login = await play(page, 'accessToken');
    const token = /"accessToken":\s*"([^"]+)"/.exec(login)?.[1] ?? '';
    const refreshToken = /"refreshToken":\s*"([^"]+)"/.exec(login)?.[1] ?? '';
    for (const each of [token, refreshToken]) expect(each).toMatch(/^[\w-]{43}$/);

    await openTab(page, 'Audit');
    expect(await play(page, 'totalCount')).toContain('"action": "client.login"');
    await page.screenshot({ path: 'coverage/playground-audit.png' });
    expect(authorizations.at(-1)).toBe(`Bearer ${token}`);

    await openTab(page, 'DeleteApiKey');
    expect(await play(page, 'outcome')).toContain('"outcome": "DELETED"');

    await openTab(page, 'LoginAgain');
    const again = await play(page, 'accessToken');
    const renewed = /"accessToken":\s*"([^"]+)"/.exec(again)?.[1] ?? '';
    expect(renewed).toMatch(/^[\w-]{43}$/);
    expect(renewed).not.toBe(token);
    expect(authorizations.at(-1)).toBe('');

    await openTab(page, 'Audit');
    expect(await play(page, 'key.delete')).toContain('"identifier": "demo-old-ci"');
    expect(authorizations.at(-1)).toBe(`Bearer ${renewed}`);

    expect(errors).toEqual([]);
    for (const url of requestedUrls)
      expect(url.replace(/^blob:/, '').startsWith(origin)).toBe(true);
    expect(page.url()).toBe(`${origin}/graphql`);

    // The playground replaces `localStorage` and `sessionStorage` in its page, so read the browser's own.
    const { origins, cookies } = await page.context().storageState();
    for (const each of [token, refreshToken, renewed]) {
      expect(JSON.stringify({ origins, cookies })).not.toContain(each);
    }
    await page.reload();
    await page.waitForSelector(PLAY);
    await openTab(page, 'Audit');
    expect(await play(page, 'errors')).toContain('"code": "UNAUTHENTICATED"');
    const stored = await page.evaluate(() => {
      const frame = document.body.appendChild(document.createElement('iframe'));
      return (
        JSON.stringify({ ...frame.contentWindow?.localStorage }) +
        JSON.stringify({ ...frame.contentWindow?.sessionStorage })
      );
    });
    expect(stored).toBe('{}{}');
    expect(await page.content()).not.toContain(token);
  });
});
