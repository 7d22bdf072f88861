import { readFileSync } from 'node:fs';
import type { AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  launchChromium,
  openPlayground,
  openTab,
  play,
  read,
  reload,
  write,
} from '../helpers/browser.ts';
import { gatewayOver, onPort } from '../helpers/gateway.ts';
import { startService } from '../helpers/service.ts';

const AXE = readFileSync(
  new URL('../../node_modules/axe-core/axe.min.js', import.meta.url),
  'utf8',
);
const CLIENT = { clientId: 'c1', clientSecret: 's1', keyToDelete: 'c2' };
const SIZES = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
];
const HOSTILE = [
  '<img src=x onerror="document.title=1">',
  '</script><script>document.title=2</script>',
  '\u202Enimda',
  'n'.repeat(300),
];
const RECORDS = ['ann', 'bob', ...HOSTILE].map((name, index) => ({
  id: `e${index}`,
  occurred_at: `2026-11-24T00:${20 + index}:33.163Z`,
  action: name === 'ann' ? 'key.delete' : 'key.read',
  outcome: name === 'ann' ? 'failure' : 'success',
  actor: { id: name, type: 'user' },
  ip_address: '192.0.2.1',
}));

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
}, 60_000);
afterAll(() => browser.close());

/** A page of the playground over a service with the records, after a login. */
async function openViews(viewport: { width: number; height: number }, body: unknown = RECORDS) {
  const service = await startService(({ url, headers }) => {
    if (url.endsWith('/login')) return { body: { access_token: 'a1' } };
    return headers.authorization === 'Bearer a1' ? { body } : { status: 401, body: {} };
  });
  const gateway = gatewayOver(service.url, { playground: CLIENT });
  const server = await onPort(gateway);
  const page = await openPlayground(browser, `${server.url}/graphql`, viewport);
  const errors: string[] = [];
  page.on('pageerror', ({ message }) => errors.push(message));
  await play(page, 'accessToken');
  return {
    page,
    errors,
    url: `${server.url}/graphql`,
    [Symbol.asyncDispose]: async () => {
      await page.close();
      await server[Symbol.asyncDispose]();
      await gateway[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

const rows = (page: Page) => page.locator('#view-table tbody > tr:first-child');
const choose = (page: Page, view: 'JSON' | 'Table' | 'Explain') =>
  page.getByRole('tab', { name: view, exact: true }).click();

/** What axe finds in the page, of every rule. */
async function violationsOf(page: Page): Promise<readonly string[]> {
  await page.evaluate(AXE);
  const { violations }: AxeResults = await page.evaluate('axe.run(document)');
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

/** Elements of the response that are wider than what contains them. */
function cut(page: Page): Promise<readonly string[]> {
  return page.evaluate(() =>
    [
      ...document.querySelectorAll(
        'html, #view-table, #view-table *, #view-explain, #view-explain *',
      ),
    ]
      .filter((each) => each.clientWidth > 0 && each.scrollWidth > each.clientWidth)
      .map((each) => `${each.tagName} ${each.scrollWidth} > ${each.clientWidth}`),
  );
}

describe.each(SIZES)('the views of a response, at $width pixels', (size) => {
  it('show a page of events as rows, whose names are texts, and why a field is null', async () => {
    await using views = await openViews(size);
    const { page } = views;
    await openTab(page, 'Audit');
    await play(page, 'totalCount');
    await page.keyboard.press('ArrowLeft'); // ends the selection with which play() reads the response
    expect(await violationsOf(page)).toEqual([]);

    await choose(page, 'Table');
    expect(await rows(page).count()).toBe(RECORDS.length);
    const first = rows(page).first();
    const zone = await page.evaluate(() =>
      new Date('2026-11-24T00:20:33.163Z').toLocaleString(undefined, {
        dateStyle: 'medium',
        timeStyle: 'medium',
      }),
    );
    expect(await first.locator('td').allInnerTexts()).toEqual([
      zone,
      'key.delete',
      'FAILURE',
      'ann · user',
      'null',
      '192.0.2.1',
    ]);
    expect(await first.locator('time').getAttribute('title')).toBe('2026-11-24T00:20:33.163Z');
    expect(await page.locator('#view-table .failure').count()).toBe(1);
    expect(await page.locator('#view-table').innerText()).toContain('6 rows');
    for (const [index, name] of HOSTILE.entries())
      expect(
        await rows(page)
          .nth(2 + index)
          .innerText(),
      ).toContain(`${name} · user`);
    expect(await page.locator('#view-table :is(img, script)').count()).toBe(0);
    expect(await page.title()).toBe('Keytrail');
    expect(await cut(page)).toEqual([]);
    expect(await violationsOf(page)).toEqual([]);

    await choose(page, 'Explain');
    const explain = await page.locator('#view-explain').innerText();
    expect(explain).toMatch(/GET \/api\/v1\/audit\s+HTTP 200 · \d+ ms/);
    expect(explain).toMatch(/target\.identifier\s+no field/);
    expect(explain).not.toContain('ann');
    expect(await cut(page)).toEqual([]);
    expect(await violationsOf(page)).toEqual([]);
    expect(views.errors).toEqual([]);
  });

  it('open the record of each event of a filter, also with the keyboard', async () => {
    await using views = await openViews(size);
    const { page } = views;
    await openTab(page, 'Failures');
    await play(page, 'raw');
    await choose(page, 'Table');
    expect(await rows(page).count()).toBe(1);
    const button = page.getByRole('button', { name: 'raw' });
    expect(await button.getAttribute('aria-expanded')).toBe('false');
    await button.press('Enter');
    expect(await button.getAttribute('aria-expanded')).toBe('true');
    expect(JSON.parse(await page.locator('#view-table pre').innerText())).toEqual(RECORDS[0]);
    expect(await cut(page)).toEqual([]);
    expect(await violationsOf(page)).toEqual([]);
    await button.press('Enter');
    expect(await page.locator('#view-table pre').isVisible()).toBe(false);
  });

  it('show the code and the message of a failure', async () => {
    await using views = await openViews(size, 'no list of records');
    const { page } = views;
    await openTab(page, 'Audit');
    await play(page, 'errors');
    await choose(page, 'Table');
    const text = await page.locator('#view-table').innerText();
    expect(text).toMatch(/^UPSTREAM_BAD_RESPONSE The response of the service .+ audit$/);
    expect(await violationsOf(page)).toEqual([]);
    await choose(page, 'Explain');
    expect(await page.locator('#view-explain').innerText()).toContain('HTTP 200');
  });

  it('show the newest event of a subscription on top, and keep 500', async () => {
    await using views = await openViews(size);
    const { page } = views;
    await openTab(page, 'AuditEvents');
    const payload = (index: number) => ({
      data: {
        auditEvents: {
          nodes: Array.from({ length: 6 }, (_, each) => ({
            occurredAt: '2026-11-24T00:20:33.163Z',
            action: `event ${index * 6 + each}`,
            outcome: 'SUCCESS',
          })),
          missed: index === 99,
        },
      },
    });
    const events = Array.from(
      { length: 100 },
      (_, index) => `event: next\ndata: ${JSON.stringify(payload(index))}\n\n`,
    );
    const headers = { 'content-type': 'text/event-stream' };
    const body = `${events.join('')}event: complete\ndata:\n\n`;
    await page.route(views.url, (route) => route.fulfill({ headers, body }));
    await play(page, 'auditEvents');
    await choose(page, 'Table');
    expect(await page.locator('#view-table').innerText()).toContain(
      'the last 500 of 600 rows · missed: true',
    );
    const actions = await page.locator('[data-column=action]').allInnerTexts();
    expect(actions).toEqual(Array.from({ length: 500 }, (_, index) => `event ${599 - index}`));
    expect(
      await rows(page)
        .first()
        .evaluate((row) => getComputedStyle(row).animationName),
    ).toBe('arrived');
    expect(await page.locator('#view-table *').count()).toBeLessThan(500 * 12);
    const countMarked = () =>
      page.evaluate(() => document.querySelectorAll('#view-table .new').length);
    await expect.poll(countMarked, { timeout: 15_000 }).toBe(0);
    await choose(page, 'JSON');
    expect(JSON.parse(await read(page, 'result'))).toEqual(payload(99)); // GraphiQL keeps one payload
    await choose(page, 'Table');
    expect(await cut(page)).toEqual([]);
    const pane = await page.locator('#view-table').boundingBox();
    expect((pane?.y ?? 0) + (pane?.height ?? size.height)).toBeLessThanOrEqual(size.height);

    // Each tab has its own response; a new one replaces it.
    await openTab(page, 'Login');
    expect(await page.locator('#view-table').innerText()).toContain('no list of events');
    await openTab(page, 'AuditEvents');
    expect(await rows(page).count()).toBe(500);
  });

  it('say what to play while a tab has no response, with the name and the × of the active tab whole', async () => {
    await using views = await openViews(size);
    const { page } = views;
    await openTab(page, 'DeleteApiKey');
    expect(await page.locator('.hint').innerText()).toBe(
      'Press play to run this operation. The next tab is LoginAgain.',
    );
    expect(await page.getByRole('tab').count()).toBe(0);
    expect(await violationsOf(page)).toEqual([]);
    for (const name of ['AuditEvents', 'Login', 'DeleteApiKey']) {
      await openTab(page, name);
      const tab = page.locator('.graphiql-tab-active');
      const button = tab.locator('.graphiql-tab-button');
      expect(await button.evaluate((each) => each.scrollWidth - each.clientWidth)).toBe(0);
      const isWhole = await tab.evaluate((each) => {
        const [own, list] = [each, each.closest('ul')].map((part) => part?.getBoundingClientRect());
        return own && list && own.left >= list.left && own.right <= list.right;
      });
      expect(isWhole).toBe(true);
    }
    await page.reload();
    await page.locator('.hint').filter({ hasText: 'Open the tab Login' }).waitFor();
    await openTab(page, 'Login');
    expect(await page.locator('.hint').innerText()).toBe(
      'Press play to run this operation. The next tab is Audit.',
    );
  });

  it('read well with dark colours', async () => {
    await using views = await openViews(size);
    const { page } = views;
    await page.emulateMedia({ colorScheme: 'dark' });
    await reload(page);
    await play(page, 'accessToken');
    await openTab(page, 'Audit');
    await play(page, 'totalCount');
    for (const view of ['Table', 'Explain'] as const) {
      await choose(page, view);
      expect(await violationsOf(page)).toEqual([]);
    }
  });
});

describe('the views of a response', () => {
  it('are tabs: the arrow keys, Home and End select them, and one is in the tab order', async () => {
    await using views = await openViews({ width: 1440, height: 900 });
    const { page } = views;
    await openTab(page, 'Audit');
    await play(page, 'totalCount');
    const selected = () => page.getByRole('tab', { selected: true }).innerText();
    await page.getByRole('tab', { name: 'JSON' }).focus();
    const seen: string[] = [];
    for (const key of ['ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowLeft', 'Home', 'End']) {
      await page.keyboard.press(key);
      seen.push(await selected());
    }
    expect(seen).toEqual(['Table', 'Explain', 'JSON', 'Explain', 'JSON', 'Explain']);
    expect(await page.locator('[role=tab][tabindex="0"]').count()).toBe(1);
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('view-explain');
  });

  it('have a table for each list of an operation, by the names that it selects', async () => {
    await using views = await openViews({ width: 1440, height: 900 });
    const { page } = views;
    await openTab(page, 'Audit');
    await write(
      page,
      'document',
      '{ a: audit(first: 2) { raw edges { node { what: action at: occurredAt } } } b: audit(first: 1) { nodes { who: actor { identifier } } } }',
    );
    await play(page, 'raw');
    await choose(page, 'Table');
    const tables = page.getByRole('table');
    expect(await tables.nth(0).getByRole('columnheader').allInnerTexts()).toEqual(['what', 'at']);
    expect(await tables.nth(0).locator('time').count()).toBe(2);
    expect(await tables.nth(1).getByRole('columnheader').allInnerTexts()).toEqual(['who']);
    expect(await page.locator('#view-table strong').allInnerTexts()).toEqual([
      'a.edges',
      'b.nodes',
    ]);
  });

  it('have Explain only where it was asked for', async () => {
    await using views = await openViews({ width: 1440, height: 900 });
    const { page } = views;
    await openTab(page, 'Audit');
    await play(page, 'totalCount');
    await choose(page, 'Explain');
    await page.click('[data-name=headers]');
    await page.waitForTimeout(500);
    await write(page, 'tool', '{"Authorization": "Bearer a1", "x-keytrail-explain": "0"}');
    await play(page, 'totalCount');
    expect(await page.getByRole('tab').allInnerTexts()).toEqual(['JSON', 'Table']);
    expect(await page.getByRole('tab', { selected: true }).innerText()).toBe('JSON');
  });
});
