import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { EXAMPLES } from './graphql-over-http.ts';

const GRAPHQL = '200 {"data":{"__typename":"Query"}}\n';
const PROGRAM = '200 the program’s own\n';

it.each([
  ['express.ts', GRAPHQL + PROGRAM],
  ['fastify.ts', GRAPHQL],
  ['hono.ts', GRAPHQL + PROGRAM],
  ['koa.ts', GRAPHQL + PROGRAM],
  ['own-login.ts', '361 events\nUNAUTHENTICATED\n'],
])('%s runs as written', async (file, expected) => {
  const sources = new URL('../helpers/resolve-to-sources.ts', import.meta.url).href;
  const { stdout } = await promisify(execFile)(process.execPath, ['--import', sources, file], {
    cwd: fileURLToPath(EXAMPLES),
    env: {},
  });
  expect(stdout).toBe(expected);
});
