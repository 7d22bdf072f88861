import { type Browser, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keytrail } from '../helpers/process.ts';

/** Debian's Chromium; what it would ask of its maker's hosts by itself is turned off. */
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
const ANSWER = '.result-window';

async function openTab(page: Page, name: string): Promise<void> {
  await page.locator('.graphiql-tab-button').getByText(name, { exact: true }).click();
  await page.waitForTimeout(500); // GraphiQL waits 100 ms before it looks which operation the tab holds
}

/** Presses play and gives the answer, once it holds a text. */
async function play(page: Page, expected: string): Promise<string> {
  await page.click(PLAY);
  // The editor draws blanks that no search for plain text would find.
  const answer = async () => (await page.locator(ANSWER).innerText()).replaceAll('\u00a0', ' ');
  await expect.poll(answer, { timeout: 10_000 }).toContain(expected);
  return answer();
}

describe('the playground', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.launch(LAUNCH);
  }, 60_000);
  afterAll(() => browser.close());

  it('tells the whole story when play is pressed from tab to tab, asks no other host and keeps nothing', async () => {
    await using gateway = keytrail([], { PORT: '0' });
    const [, origin = ''] = await gateway.until(/(http:\/\/127\.0\.0\.1:\d+)\/graphql/);
    // The login that is printed does not use up what the playground logs in with.
    const [, body = ''] = await gateway.until(/-d '(.*)'/);
    const headers = { 'content-type': 'application/json' };
    const printed = await fetch(`${origin}/graphql`, { method: 'POST', headers, body });
    expect(await printed.json()).toMatchObject({ data: { login: {} } });

    const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
    const asked: string[] = [];
    const authorized: string[] = [];
    const complaints: string[] = [];
    page.on('request', (request) => {
      asked.push(request.url());
      authorized.push(request.headers()['authorization'] ?? '');
    });
    page.on('pageerror', ({ message }) => complaints.push(message));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
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
    expect(authorized.at(-1)).toBe(`Bearer ${token}`);

    await openTab(page, 'DeleteApiKey');
    expect(await play(page, 'outcome')).toContain('"outcome": "DELETED"');

    await openTab(page, 'LoginAgain');
    const again = await play(page, 'accessToken');
    const renewed = /"accessToken":\s*"([^"]+)"/.exec(again)?.[1] ?? '';
    expect(renewed).toMatch(/^[\w-]{43}$/);
    expect(renewed).not.toBe(token);
    expect(authorized.at(-1)).toBe('');

    await openTab(page, 'Audit');
    expect(await play(page, 'key.delete')).toContain('"identifier": "demo-old-ci"');
    expect(authorized.at(-1)).toBe(`Bearer ${renewed}`);

    expect(complaints).toEqual([]);
    for (const url of asked) expect(url.replace(/^blob:/, '').startsWith(origin)).toBe(true);
    expect(page.url()).toBe(`${origin}/graphql`);

    // A page that is told to forget could pretend: the browser's own stores are read beside it.
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
