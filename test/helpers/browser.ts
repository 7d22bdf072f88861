import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

/** Launches Debian's Chromium without windows, which takes a quarter less CPU time, and without its background requests. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: '/usr/bin/chromium-headless-shell',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** Opens an empty page. Its deadlines only end what hangs: Playwright's 30 s are short on a busy machine. */
export async function newPage(browser: Browser, options?: BrowserContextOptions): Promise<Page> {
  const page = await browser.newPage(options);
  page.setDefaultTimeout(120_000);
  return page;
}

const PLAY = 'button[aria-label^="Execute"]';

/** Parts of the playground. */
export const PARTS = {
  document: '.graphiql-query-editor .graphiql-editor',
  /** The variables or the headers, whichever are shown. */
  tool: '.graphiql-editor-tool .graphiql-editor:not(.hidden)',
  result: '.result-window',
} as const;

/** Opens the playground in a new page and waits until it can run an operation. */
export async function openPlayground(
  browser: Browser,
  url: string,
  viewport = { width: 2000, height: 1000 }, // few lines wrap
): Promise<Page> {
  const page = await newPage(browser, { viewport, colorScheme: 'light' });
  await page.goto(url);
  await untilReady(page);
  return page;
}

/** Reloads it and waits again. */
export async function reload(page: Page): Promise<void> {
  await page.reload();
  await untilReady(page);
}

async function untilReady(page: Page): Promise<void> {
  await page.waitForSelector(PLAY);
  await page.waitForSelector(`${PARTS.result} .monaco-editor`, { state: 'attached' });
  await page.waitForTimeout(500); // GraphiQL reads the operation of a tab after a debounce of 100 ms
}

/** Changes the tab. */
export async function openTab(page: Page, name: string): Promise<void> {
  await page.locator('.graphiql-tab-button').getByText(name, { exact: true }).click();
  await page.waitForTimeout(500);
}

/** Runs the operation, waits until the result contains a text, and returns the result. */
export async function play(page: Page, expected: string): Promise<string> {
  const result = page.locator(PARTS.result).filter({ hasText: expected });
  const options = { timeout: 5000 };
  const isRun = () =>
    Promise.any([
      page.waitForRequest((request) => request.method() === 'POST', options),
      result.waitFor(options),
    ]).then(
      () => true,
      () => false,
    );
  // On a busy machine GraphiQL may not have read the operation yet. Then it ignores the click.
  for (let clicks = 0; clicks < 6; clicks += 1) {
    const running = isRun();
    await page.click(PLAY);
    if (await running) break;
  }
  await result.waitFor();
  return read(page, 'result');
}

/** Shows the editor of the variables or of the headers. */
export async function show(page: Page, tool: 'variables' | 'headers'): Promise<void> {
  await page.click(`[data-name=${tool}]`);
  await page.waitForTimeout(500);
}

/** The text of an editor, as it copies it: the page shows only visible lines, and a long one as several. */
export async function read(page: Page, part: keyof typeof PARTS): Promise<string> {
  await page.locator(`${PARTS[part]} .view-lines`).click();
  await page.keyboard.press('Control+A');
  return page.locator(`${PARTS[part]} textarea.inputarea`).evaluate((area) => {
    const clipboardData = new DataTransfer();
    area.dispatchEvent(new ClipboardEvent('copy', { clipboardData }));
    return clipboardData.getData('text/plain');
  });
}

/** Replaces the text of an editor by pasting: while one types, it closes brackets. */
export async function write(page: Page, part: keyof typeof PARTS, text: string): Promise<void> {
  await page.locator(`${PARTS[part]} .view-lines`).click();
  await page.keyboard.press('Control+A');
  await page.locator(`${PARTS[part]} textarea.inputarea`).evaluate((area, pasted) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', pasted);
    area.dispatchEvent(new ClipboardEvent('paste', { clipboardData }));
  }, text);
  await page.waitForTimeout(500);
}
