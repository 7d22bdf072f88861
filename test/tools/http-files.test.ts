import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createTestbed } from '../../src/testing/testbed.ts';
import { createFolder, runTool } from './run-tool.ts';
import { expectSixResponses, type Responses } from './six-requests.ts';

const URL_LINE = '@url = http://127.0.0.1:4000/graphql\n';

const read = (file: string) =>
  readFile(new URL(`../../examples/http/${file}`, import.meta.url), 'utf8');

/** A reference of REST Client to a response, as httpyac writes it. REST Client itself runs in VS Code only. */
const toHttpyac = (text: string) =>
  text.replaceAll(/\{\{(\w+)\.response\.body\.\$\.([\w.]+)\}\}/g, '{{$1.$2}}');

/** Sends every request of a file with httpyac. */
async function sendAll(text: string, url: string): Promise<Responses> {
  await using folder = await createFolder();
  expect(text).toContain(URL_LINE);
  await writeFile(join(folder.path, 'file.http'), text.replace(URL_LINE, `@url = ${url}\n`));
  const { stdout } = await runTool(
    folder.path,
    'httpyac',
    ...['send', 'file.http', '--all', '--json'],
  );
  const { requests } = JSON.parse(stdout);
  return requests.map((request: { response?: { body?: string } }) =>
    JSON.parse(request.response?.body ?? '{}'),
  );
}

describe.each([
  ['keytrail.http', (text: string) => text],
  ['rest-client.http', toHttpyac],
])('examples/http/%s', (file, translate) => {
  it('logs in, pages, filters, deletes a key and shows an error, twice in a row', async () => {
    const text = translate(await read(file));
    await using keytrail = await createTestbed({ strictLogin: false });
    expectSixResponses(await sendAll(text, keytrail.url), keytrail, 'DELETED');
    keytrail.requests.clear();
    expectSixResponses(await sendAll(text, keytrail.url), keytrail, 'NOT_FOUND');
  });
});

describe('the two files', () => {
  it('differ only in how a request uses the response of another', async () => {
    const requestsOf = (text: string) => text.slice(text.indexOf(URL_LINE));
    const withHandlers = requestsOf(await read('keytrail.http'));
    const withReferences = requestsOf(await read('rest-client.http'));
    expect(withHandlers.replaceAll(/^> \{%.*%\}\n\n/gm, '')).toBe(
      withReferences
        .replaceAll('{{login.response.body.$.data.login.accessToken}}', '{{token}}')
        .replaceAll('{{firstPage.response.body.$.data.audit.pageInfo.endCursor}}', '{{endCursor}}'),
    );
  });

  it('have no response handler for REST Client, which would send it as part of the body', async () => {
    expect(await read('rest-client.http')).not.toMatch(/^[<>]/m);
  });
});
