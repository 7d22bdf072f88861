import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createTestbed } from '../../src/testing/testbed.ts';
import { createFolder, runTool } from './run-tool.ts';
import { expectSixResponses } from './six-requests.ts';

const COLLECTION = fileURLToPath(new URL('../../examples/bruno', import.meta.url));

/** Runs the collection as docs/tools.md says. */
async function runCollection(url: string) {
  await using folder = await createFolder();
  const collection = join(folder.path, 'bruno');
  await cp(COLLECTION, collection, { recursive: true });
  const { status } = await runTool(
    collection,
    'bru',
    ...['run', '--env', 'sandbox', '--env-var', `url=${url}`, '--reporter-json', 'report.json'],
  );
  const [report] = JSON.parse(await readFile(join(collection, 'report.json'), 'utf8'));
  type Result = { readonly response: { readonly data: unknown } };
  return {
    status,
    responses: report.results.map(({ response }: Result) => response.data),
    summary: report.summary,
  };
}

describe('examples/bruno', () => {
  it('logs in, pages, filters, deletes a key and shows an error, twice in a row', async () => {
    await using keytrail = await createTestbed({ strictLogin: false });
    const first = await runCollection(keytrail.url);
    expectSixResponses(first.responses, keytrail, 'DELETED');
    keytrail.requests.clear();
    const second = await runCollection(keytrail.url);
    expectSixResponses(second.responses, keytrail, 'NOT_FOUND');
    for (const { status, summary } of [first, second]) {
      expect(status).toBe(0);
      expect(summary).toMatchObject({ totalRequests: 6, passedAssertions: 5, failedAssertions: 0 });
    }
  });

  it('exits with a failure if an assertion fails', async () => {
    await using keytrail = await createTestbed({ strictLogin: false });
    keytrail.respondNext({ status: 401 });
    const { status, summary } = await runCollection(keytrail.url);
    expect(status).not.toBe(0);
    expect(summary.failedAssertions).toBeGreaterThan(0);
  });
});
