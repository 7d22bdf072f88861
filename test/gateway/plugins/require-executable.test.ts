import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startKeytrail } from '../../helpers/process.ts';

const HOOK = new URL('../../helpers/other-graphql.ts', import.meta.url);
const REASON =
  /No query can be executed, as the installed packages do not fit together \([^{}]+\)\. Install them again: `npm ci` in a clone; /;

// In production graphql-js compares less: nothing but a query fails.
describe.each(['development', 'production'])('with two copies of graphql, in %s', (mode) => {
  let folder: string;
  let environment: Readonly<Record<string, string>>;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'keytrail-graphql-'));
    cpSync(fileURLToPath(new URL('../../../node_modules/graphql', import.meta.url)), folder, {
      recursive: true,
    });
    environment = {
      NODE_ENV: mode,
      NODE_OPTIONS: `--import ${HOOK.href}`,
      OTHER_GRAPHQL: pathToFileURL(folder).href,
      PORT: '0',
      UPSTREAM_URL: 'http://127.0.0.1:9',
    };
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  it('the command does not start, and says what to do', async () => {
    await using keytrail = startKeytrail([], environment);
    await expect(keytrail.until(/Forwards to|listening/)).rejects.toThrow(REASON);
    expect(await keytrail.status).toBe(1);
    expect(keytrail.output.stderr.split('\n')).toHaveLength(2);
  });

  it('createGateway throws the same', async () => {
    const program = `
      import { createGateway } from ${JSON.stringify(new URL('../../../src/index.ts', import.meta.url).href)};
      createGateway({ upstream: { url: 'http://127.0.0.1:9' } });`;
    await using running = startKeytrail(['--eval', program], environment, '--input-type=module');
    expect(await running.status).toBe(1);
    expect(running.output.stderr).toMatch(REASON);
  });
});
