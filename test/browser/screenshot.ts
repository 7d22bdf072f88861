import { mkdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { launchChromium, openPlayground, openTab, play } from '../helpers/browser.ts';
import { startKeytrail } from '../helpers/process.ts';

/** Takes the README's picture of the playground: the audit trail as a table after a login, without a token. */
const FOLDER = fileURLToPath(new URL('../../docs/images/', import.meta.url));

await using command = startKeytrail([], { PORT: '0' });
const [, url = ''] = await command.until(/(http:\/\/127\.0\.0\.1:\d+\/graphql)/);
const browser = await launchChromium();
try {
  const page = await openPlayground(browser, url, { width: 1440, height: 680 });
  await play(page, 'expiresAt');
  await openTab(page, 'Audit');
  await play(page, 'totalCount');
  await page.getByRole('tab', { name: 'Table' }).click();
  await page.mouse.move(0, 0); // hovers over nothing
  await page.waitForTimeout(500);
  mkdirSync(FOLDER, { recursive: true });
  await page.screenshot({ path: `${FOLDER}playground.png` });
} finally {
  await browser.close();
}
