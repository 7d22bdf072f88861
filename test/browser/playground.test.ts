import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DeleteApiKeyDocument, LoginDocument, request } from '../../src/client/index.ts';
import {
  launchChromium,
  newPage,
  openPlayground,
  openTab,
  PARTS,
  play,
  read,
  reload,
  show,
  write,
} from '../helpers/browser.ts';
import { gatewayOver, type Overrides, onPort } from '../helpers/gateway.ts';
import { startKeytrail } from '../helpers/process.ts';
import { startService } from '../helpers/service.ts';

const CLIENT = { clientId: 'c1', clientSecret: 'secret-of-c1', keyToDelete: 'c2' };

let browser: Browser;
beforeAll(async () => {
  browser = await launchChromium();
}, 60_000);
afterAll(() => browser.close());

/** A gateway on a port, over a service that accepts every login and numbers the tokens. */
async function startPlayground(playground: Overrides['playground'] = CLIENT) {
  let logins = 0;
  const service = await startService(({ url }) => {
    if (!url.endsWith('/login')) return { body: [{ id: 'e1', action: 'key.create' }] };
    logins += 1;
    return { body: { access_token: `access-${logins}`, refresh_token: `refresh-${logins}` } };
  });
  const gateway = gatewayOver(service.url, { playground });
  const server = await onPort(gateway);
  const stop = async () => {
    await server[Symbol.asyncDispose]();
    await gateway[Symbol.asyncDispose]();
  };
  return {
    service,
    url: `${server.url}/graphql`,
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
      await service[Symbol.asyncDispose]();
    },
  };
}

/** What the browser has stored. */
function readStorage(page: Page): Promise<string> {
  return page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
}

const tabNames = (page: Page) => page.locator('.graphiql-tab-button').allInnerTexts();
const activeTab = (page: Page) =>
  page.locator('.graphiql-tab-active .graphiql-tab-button').innerText();

describe('the playground', () => {
  it('runs the operations of all tabs in order, requests no other host and stores no token', async () => {
    await using command = startKeytrail([], { PORT: '0' });
    const [, origin = ''] = await command.until(/(http:\/\/127\.0\.0\.1:\d+)\/graphql/);
    const page = await newPage(browser, { viewport: { width: 1400, height: 1000 } });
    const requestedUrls: string[] = [];
    const authorizations: string[] = [];
    const errors: string[] = [];
    page.on('request', (request) => {
      requestedUrls.push(request.url());
      authorizations.push(request.headers()['authorization'] ?? '');
    });
    page.on('pageerror', ({ message }) => errors.push(message));
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) errors.push(message.text());
    });

    await page.goto(`${origin}/graphql`);
    await reload(page);
    const login = await play(page, 'expiresAt');
    const [token = '', refreshToken = ''] = login.match(/[\w-]{43}/g) ?? [];
    expect(token).not.toBe('');
    expect(refreshToken).not.toBe('');

    await openTab(page, 'Audit');
    expect(await play(page, 'totalCount')).toContain('"action": "client.login"');
    await expect.poll(() => authorizations.at(-1)).toBe(`Bearer ${token}`);

    await openTab(page, 'Failures');
    expect(await play(page, 'raw')).toContain('"outcome": "failure"');

    await openTab(page, 'DeleteApiKey');
    const deletion = await play(page, 'outcome');
    expect(deletion).toContain('"outcome": "DELETED"');
    expect(deletion).toContain('"action": "key.delete"');

    await openTab(page, 'LoginAgain');
    const [renewed = ''] = (await play(page, 'expiresAt')).match(/[\w-]{43}/) ?? [];
    expect(renewed).not.toBe('');
    expect(renewed).not.toBe(token);
    await expect.poll(() => authorizations.at(-1)).toBe('');

    await openTab(page, 'Audit');
    expect(await play(page, 'key.delete')).toContain('"identifier": "demo-old-ci"');
    await expect.poll(() => authorizations.at(-1)).toBe(`Bearer ${renewed}`);

    expect(errors).toEqual([]);
    for (const url of requestedUrls)
      expect(url.replace(/^blob:/, '').startsWith(origin)).toBe(true);
    expect(page.url()).toBe(`${origin}/graphql`);
    const { origins, cookies } = await page.context().storageState();
    const stored = JSON.stringify({ origins, cookies }) + (await readStorage(page));
    for (const each of [token, refreshToken, renewed, 'demo-admin-secret'])
      expect(stored).not.toContain(each);
    expect(await page.evaluate(() => localStorage.length)).toBe(0);

    await reload(page);
    await openTab(page, 'Login');
    const [again = ''] = (await play(page, 'expiresAt')).match(/[\w-]{43}/) ?? [];
    await openTab(page, 'Audit');
    await play(page, 'totalCount');
    await expect.poll(() => authorizations.at(-1)).toBe(`Bearer ${again}`);
  });

  it('shows a deletion of another client as it arrives, until the user stops the subscription', async () => {
    await using command = startKeytrail([], { PORT: '0' });
    const [, url = ''] = await command.until(/(http:\/\/127\.0\.0\.1:\d+\/graphql)/);
    const page = await openPlayground(browser, url);
    const errors: string[] = [];
    page.on('pageerror', ({ message }) => errors.push(message));
    await play(page, 'expiresAt');
    await openTab(page, 'AuditEvents');
    expect(JSON.parse(await play(page, 'missed'))).toMatchObject({
      data: { auditEvents: { nodes: [], missed: false } },
    });

    const credential = { clientSecret: 'demo-admin-secret-5f2c9a71' };
    const login = await request(LoginDocument, { clientId: 'demo-admin', credential }, { url });
    const token = login.data?.login?.accessToken;
    await request(DeleteApiKeyDocument, { clientId: 'demo-old-ci' }, { url, token });
    await page.locator(PARTS.result).filter({ hasText: 'key.delete' }).waitFor();
    const { nodes } = JSON.parse(await read(page, 'result')).data.auditEvents;
    expect(nodes.at(-1)).toMatchObject({
      action: 'key.delete',
      outcome: 'SUCCESS',
      target: { identifier: 'demo-old-ci' },
    });

    await page.click('[aria-label^="Stop"]');
    await command.until(/"operation":"subscription".*"ended":"client"/);
    expect(await read(page, 'result')).toContain('key.delete');
    expect(errors).toEqual([]);
  });

  it('says that the connection of a subscription was lost, and shows why one ended', async () => {
    await using keytrail = await startPlayground();
    const page = await openPlayground(browser, keytrail.url);
    await play(page, 'access-1');
    await openTab(page, 'AuditEvents');
    await write(page, 'document', 'subscription { auditEvents(every: 1) { missed } }');
    expect(await play(page, 'BAD_USER_INPUT')).toContain('between 5 and 300');
    await page.route(keytrail.url, (route) =>
      route.fulfill({ headers: { 'content-type': 'text/event-stream' }, body: ':\n\nevent: n' }),
    );
    expect(JSON.parse(await play(page, 'lost'))).toEqual({
      errors: [{ message: 'The connection was lost: press play again.' }],
    });
  });

  it('shows the calls to the service under each result, unless a header of the user says otherwise', async () => {
    await using keytrail = await startPlayground();
    const page = await openPlayground(browser, keytrail.url);
    const explained: unknown[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') explained.push(request.headers()['x-keytrail-explain']);
    });
    const login = JSON.parse(await play(page, 'expiresAt'));
    expect(login.extensions.explain.calls).toMatchObject([{ field: 'login', status: 200 }]);
    expect(JSON.stringify(login.extensions)).not.toMatch(/access-1|refresh-1|secret-of-c1/);
    await openTab(page, 'Audit');
    const { extensions } = JSON.parse(await play(page, 'totalCount'));
    expect(extensions.explain.calls).toMatchObject([{ field: 'audit', path: '/api/v1/audit' }]);
    await show(page, 'headers');
    await write(
      page,
      'tool',
      '{"Authorization": "Bearer {{accessToken}}", "x-keytrail-explain": "0"}',
    );
    expect(JSON.parse(await play(page, 'totalCount'))).not.toHaveProperty('extensions');
    // `play` may click twice on a busy machine.
    expect([...new Set(explained)]).toEqual(['1', '0']);
    expect(explained.at(-1)).toBe('0');
  });

  it('blocks every script but its own', async () => {
    await using keytrail = await startPlayground();
    const response = await fetch(keytrail.url, { headers: { accept: 'text/html' } });
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toMatch(/script-src 'sha256-[\w+/]{43}='$/);
  });

  it('sends nothing while a token is missing, and says to log in; after a reload one login is enough', async () => {
    await using keytrail = await startPlayground();
    const page = await openPlayground(browser, keytrail.url);
    const posted: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') posted.push(request.postData() ?? '');
    });
    const messageOf = (result: string) => JSON.parse(result).errors[0].message;

    for (const tab of ['Audit', 'DeleteApiKey', 'LoginAgain', 'AuditEvents']) {
      await openTab(page, tab);
      expect(messageOf(await play(page, 'message'))).toBe('Run the Login tab first.');
    }
    expect(posted).toEqual([]);
    expect(keytrail.service.seen).toEqual([]);

    for (const attempt of [1, 2]) {
      await openTab(page, 'Login');
      await play(page, `access-${attempt}`);
      await openTab(page, 'Audit');
      await play(page, 'key.create');
      expect(keytrail.service.seen.at(-1)?.headers.authorization).toBe(`Bearer access-${attempt}`);
      const sent = keytrail.service.seen.length;
      await reload(page);
      expect(messageOf(await play(page, 'message'))).toBe('Run the Login tab first.');
      expect(keytrail.service.seen.length).toBe(sent);
    }
  });

  it('without the sandbox sends no placeholder, and says which one to replace', async () => {
    await using keytrail = await startPlayground({});
    const page = await openPlayground(browser, keytrail.url);
    expect(await play(page, 'message')).toContain('"Replace {{your client id}} first."');
    const clientId = 'c1';
    await write(
      page,
      'tool',
      JSON.stringify({ clientId, credential: { clientSecret: '{{its secret}}' } }),
    );
    expect(await play(page, 'its')).toContain('"Replace {{its secret}} first."');
    expect(keytrail.service.seen).toEqual([]);
    await write(page, 'tool', JSON.stringify({ clientId, credential: { clientSecret: 's' } }));
    await play(page, 'access-1');
    await openTab(page, 'DeleteApiKey');
    expect(await play(page, 'message')).toContain('{{client id of the key to delete}}');
    expect(keytrail.service.seen).toHaveLength(1);
  });

  it('prepares the Authorization header in a new tab', async () => {
    await using keytrail = await startPlayground();
    const page = await openPlayground(browser, keytrail.url);
    await play(page, 'access-1');
    await page.click('[aria-label="New tab"]');
    await show(page, 'headers');
    expect(JSON.parse(await read(page, 'tool'))).toEqual({
      Authorization: 'Bearer {{accessToken}}',
    });
    await write(page, 'document', '{ audit { nodes { action } } }');
    await play(page, 'key.create');
    expect(keytrail.service.seen.at(-1)?.headers.authorization).toBe('Bearer access-1');
  });

  it('shows errors as the server sent them, or as one sentence, and never a stack', async () => {
    await using keytrail = await startPlayground();
    const page = await openPlayground(browser, keytrail.url);
    const errorOf = async (expected: string) => JSON.parse(await play(page, expected)).errors[0];

    await write(page, 'document', '{ audit {');
    expect(await errorOf('GRAPHQL_PARSE_FAILED')).toMatchObject({
      message: expect.stringMatching(/^Syntax error/),
      extensions: { code: 'GRAPHQL_PARSE_FAILED' },
    });
    await write(page, 'document', '{ nothing }');
    expect(await errorOf('GRAPHQL_VALIDATION_FAILED')).toMatchObject({
      extensions: { code: 'GRAPHQL_VALIDATION_FAILED' },
    });
    await write(page, 'document', '{ audit { totalCount } }');
    expect(await play(page, 'UNAUTHENTICATED')).toContain('"code": "UNAUTHENTICATED"');

    await write(page, 'tool', '{"a":');
    expect(await errorOf('Variables')).toEqual({
      message: expect.stringMatching(/^Variables are invalid JSON/),
    });
    await write(page, 'tool', '');
    await show(page, 'headers');
    await write(page, 'tool', '{"a": "☃"}');
    const invalid = { message: 'A header has a name or value that HTTP does not allow.' };
    expect(await errorOf('header')).toEqual(invalid);
    await write(page, 'tool', '');

    await page.route(keytrail.url, (route) => route.fulfill({ status: 502, body: '<h1>502</h1>' }));
    expect(await errorOf('JSON')).toEqual({ message: 'The response is not JSON (HTTP 502).' });
    await page.unroute(keytrail.url);

    await keytrail.stop();
    const down = { message: 'Keytrail does not respond. Check that it is running.' };
    expect(await errorOf('respond')).toEqual(down);
  });

  it('lists the own fields before those of federation', async () => {
    await using keytrail = await startPlayground();
    const page = await openPlayground(browser, keytrail.url);
    await page.click('[aria-label="Show Documentation Explorer"]');
    await page.locator('.graphiql-doc-explorer').getByText('Query', { exact: true }).click();
    const fields = page.locator('.graphiql-doc-explorer-field-name');
    await fields.first().waitFor();
    expect(await fields.allInnerTexts()).toEqual(['audit', '_entities', '_service']);

    await write(page, 'document', '{  }');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('ArrowLeft');
    await page.keyboard.press('Control+Space');
    const suggestions = page.locator('.suggest-widget .monaco-list-row .label-name');
    await suggestions.first().waitFor();
    expect(await suggestions.first().innerText()).toBe('audit');
  });

  it('keeps the theme, the documents and the active tab until the browser tab is closed, and nothing else', async () => {
    await using keytrail = await startPlayground();
    const page = await openPlayground(browser, keytrail.url);
    await page.click('[aria-label="Open settings dialog"]');
    await page.getByRole('button', { name: 'Dark' }).click();
    await page.keyboard.press('Escape');
    await play(page, 'access-1');
    await openTab(page, 'Audit');
    await write(page, 'document', 'query Mine { audit { totalCount } }');
    await write(page, 'tool', '{"first": 4242}');
    for (const query of ['{ audit { nodes { id } } }', 'query Kept { __typename }']) {
      await page.click('[aria-label="New tab"]');
      await write(page, 'document', query);
      await show(page, 'variables');
      await write(page, 'tool', '{"first": 4243}');
      await show(page, 'headers');
      await write(page, 'tool', '{"x-private": "4244"}');
    }
    const names = [
      'Login',
      'Mine',
      'Failures',
      'DeleteApiKey',
      'LoginAgain',
      'AuditEvents',
      '<untitled>',
      'Kept',
    ];
    expect(await tabNames(page)).toEqual(names);
    await expect.poll(() => readStorage(page)).toContain('__typename');
    expect(await readStorage(page)).not.toMatch(/access-1|refresh-1|secret-of-c1|424\d/);

    await reload(page);
    expect(await tabNames(page)).toEqual(names);
    expect(await activeTab(page)).toBe('Kept');
    expect(await read(page, 'document')).toBe('query Kept { __typename }');
    expect(await page.locator('body').getAttribute('class')).toContain('graphiql-dark');
    await show(page, 'headers');
    expect(await read(page, 'tool')).toContain('Bearer {{accessToken}}');
    await openTab(page, 'Mine');
    expect(await read(page, 'tool')).toContain('Bearer {{accessToken}}');
    await show(page, 'variables');
    expect(JSON.parse(await read(page, 'tool'))).toEqual({ first: 10, after: null });
    await openTab(page, '<untitled>');
    expect(await read(page, 'document')).toBe('{ audit { nodes { id } } }');
    expect((await read(page, 'tool')).trim()).toBe('');

    const other = await openPlayground(browser, keytrail.url); // its own session
    expect(await tabNames(other)).toEqual([
      'Login',
      'Audit',
      'Failures',
      'DeleteApiKey',
      'LoginAgain',
      'AuditEvents',
    ]);
  });

  it('after a reload shows a closed tab of its own again', async () => {
    await using keytrail = await startPlayground();
    const page = await openPlayground(browser, keytrail.url);
    await page.locator('[aria-label="Close Tab"]').first().click();
    await expect.poll(() => readStorage(page)).not.toMatch(/Login\b/);
    await reload(page);
    expect(await tabNames(page)).toEqual([
      'Audit',
      'Failures',
      'DeleteApiKey',
      'LoginAgain',
      'AuditEvents',
      'Login',
    ]);
    await openTab(page, 'Login');
    await play(page, 'access-1');
  });

  it('does not store a document that contains a credential', async () => {
    await using keytrail = await startPlayground();
    const page = await openPlayground(browser, keytrail.url);
    await play(page, 'access-1');
    const login =
      'mutation { login(clientId: "c1", credential: { clientSecret: "inline" }) { tokenType } }';
    for (const query of [
      login,
      'mutation ($s: String = "inline") { login(clientId: "c1", credential: { clientSecret: $s }) { tokenType } }',
      '# access-1\n{ __typename }',
    ]) {
      await page.click('[aria-label="New tab"]');
      await write(page, 'document', query);
    }
    await page.click('[aria-label="New tab"]');
    await write(page, 'document', 'query Last { __typename }');
    await expect.poll(() => readStorage(page)).toContain('Last');
    expect(await readStorage(page)).not.toMatch(/inline|access-1/);
  });

  it('puts no document of a link into a tab', async () => {
    await using keytrail = await startPlayground();
    const page = await openPlayground(
      browser,
      `${keytrail.url}?query=query+Link+%7B+__typename+%7D`,
    );
    expect(await tabNames(page)).not.toContain('Link');
    expect(await read(page, 'document')).toContain('mutation Login');
  });

  it('can be used with the keyboard alone', async () => {
    await using keytrail = await startPlayground();
    const page = await openPlayground(browser, keytrail.url);
    const focused = () =>
      page.evaluate(() => {
        const element = document.activeElement ?? document.body;
        const { outlineStyle, outlineWidth } = getComputedStyle(element);
        const name = element.getAttribute('aria-label') ?? element.textContent ?? '';
        const isEditor = element.matches('.graphiql-editor');
        return { name: isEditor ? 'editor' : name, outline: `${outlineStyle} ${outlineWidth}` };
      });
    const names: string[] = [];
    for (let each = ''; each !== 'Result Window'; names.push(each)) {
      await page.keyboard.press('Tab');
      const { name, outline } = await focused();
      expect({ name, outline }).toEqual({ name, outline: 'solid 2px' });
      each = name;
    }
    expect(names.filter((name) => name === 'editor')).toHaveLength(2);
    expect(names).toEqual(
      expect.arrayContaining([
        ...['Show Documentation Explorer', 'Open short keys dialog', 'Open settings dialog'],
        ...['Login', 'Audit', 'Failures', 'DeleteApiKey', 'LoginAgain', 'AuditEvents', 'New tab'],
        ...['Execute query (Ctrl-Enter)', 'Variables', 'Headers'],
      ]),
    );

    for (let name = ''; name !== 'Execute query (Ctrl-Enter)'; ) {
      await page.keyboard.press('Shift+Tab');
      ({ name } = await focused());
    }
    await page.keyboard.press('Shift+Tab');
    expect(await focused()).toMatchObject({ name: 'editor' });
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    expect(await focused()).toMatchObject({ name: 'Editor content' });
    await page.keyboard.press('Control+Enter');
    await page.locator('.result-window').filter({ hasText: 'access-1' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Tab');
    expect(await focused()).toMatchObject({ name: 'Execute query (Ctrl-Enter)' });
  });

  it('shows all tabs and wraps lines in a narrow window', async () => {
    await using keytrail = await startPlayground();
    const page = await openPlayground(browser, keytrail.url, { width: 700, height: 800 });
    const widths = (selector: string) =>
      page
        .locator(selector)
        .evaluate(({ scrollWidth, clientWidth }) => ({ scrollWidth, clientWidth }));
    const bar = await widths('.graphiql-tabs');
    expect(bar.scrollWidth).toBe(bar.clientWidth);
    await write(page, 'document', `# ${'word '.repeat(100)}`);
    const lines = await widths('.graphiql-query-editor .view-lines');
    expect(lines.scrollWidth).toBe(lines.clientWidth);
    expect(await page.locator('.graphiql-query-editor .view-line').count()).toBeGreaterThan(5);
  });
});
