import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** A line that a file of that name must not have, or may have, and the rule that decides. */
type Plant = readonly [file: string, line: string];

const REFUSED: readonly Plant[] = [
  ['src/errors.ts', "export * from './config.ts';"],
  ['src/config.ts', "export * from './errors.ts';"],
  ['src/memo.ts', "export * from './errors.ts';"],
  ['src/gateway-types.ts', "export * from './gateway.ts';"],
  ['src/client/new.ts', "export * from '../gateway-types.ts';"],
  ['src/client/new.ts', "export * from 'node:fs';"],
  ['src/client/new.ts', "export * from 'graphql';"],
  ['src/testing/new.ts', "export * from '../gateway.ts';"],
  ['src/library/new.ts', "export * from '../main.ts';"],
  ['src/index.ts', "export * from './main.ts';"],
  ['src/reading/new.ts', "export * from '../rest/json.ts';"],
  ['src/reading/new.ts', "export * from 'node:fs';"],
  ['src/reading/new.ts', "export * from 'graphql';"],
  ['src/reading/new.ts', "export * from '../inference/infer.ts';"],
  ['src/reading/new.ts', "export * from '../window/page.ts';"],
  ['src/inference/new.ts', "export * from '../window/page.ts';"],
  ['src/inference/new.ts', "export * from '../rest/json.ts';"],
  ['src/window/new.ts', "export * from '../inference/infer.ts';"],
  ['src/window/new.ts', "export * from '../context.ts';"],
  ['src/rest/new.ts', "export * from '../reading/trail.ts';"],
  ['src/rest/new.ts', "export * from '../context.ts';"],
  ['src/rest/new.ts', "export * from 'graphql';"],
  ['src/rest/new.ts', "export * from 'graphql-yoga';"],
  ['src/rest/new.ts', "export * from '@pothos/core';"],
  ['src/context.ts', "export * from './builder.ts';"],
  ['src/context.ts', "export * from 'undici';"],
  ['src/builder.ts', "export * from './operations/login.ts';"],
  ['src/builder.ts', "export * from './rest/client.ts';"],
  ['src/operations/new.ts', "export * from 'undici';"],
  ['src/operations/new.ts', "export * from 'undici/lib/dispatcher/pool.js';"],
  ['src/operations/new.ts', "export * from './login.ts';"],
  ['src/operations/new.ts', "export * from '../rest/client.ts';"],
  ['src/operations/new.ts', "export * from '../context.ts';"],
  ['src/plugins/new.ts', "export * from './use-routes.ts';"],
  ['src/plugins/new.ts', "export * from '../context.ts';"],
  ['src/prepared/new.ts', "export * from '../context.ts';"],
  ['src/prepared/new.ts', "export * from 'undici';"],
  ['src/schema.ts', "export * from './gateway.ts';"],
  ['src/guard.ts', "export * from './gateway.ts';"],
  ['src/login-guard.ts', "export * from './remote-address.ts';"],
  ['src/caller.ts', "export * from './errors.ts';"],
  ['src/remote-address.ts', "export * from './errors.ts';"],
  ['src/login-counter.ts', "export * from './errors.ts';"],
  ['src/selection.ts', "export * from './builder.ts';"],
  ['src/turn.ts', "export * from './errors.ts';"],
  ['src/gateway.ts', "export * from './operations/login.ts';"],
  ['src/gateway.ts', "export * from './config.ts';"],
  ['src/server.ts', "export * from './commands/serve.ts';"],
  ['src/sandbox/new.ts', "export * from '../errors.ts';"],
  ['src/commands/new.ts', "export * from '../main.ts';"],
  ['src/commands/new.ts', "export * from 'node:process';"],
  ['src/commands/new.ts', 'export const processUsed = process;'],
  ['src/commands/new.ts', 'export const fetchUsed = fetch;'],
  ['src/commands/new.ts', 'export const performanceUsed = performance;'],
  ['src/commands/new.ts', 'export const cryptoUsed = crypto;'],
];

const ALLOWED: readonly Plant[] = [
  ['src/config.ts', "export * from './address.ts';"],
  ['src/client/other.ts', "export type { ErrorCode } from '../errors.ts';"],
  ['src/testing/new.ts', "export * from '../client/client.ts';"],
  ['src/index.ts', "export * from './library/gateway.ts';"],
  ['src/reading/new.ts', "export * from './names.ts';"],
  ['src/inference/new.ts', "export * from '../memo.ts';"],
  ['src/rest/new.ts', "export * from '../memo.ts';"],
  ['src/rest/new.ts', "export * from './json.ts';"],
  ['src/rest/new.ts', "export * from '../turn.ts';"],
  ['src/operations/new.ts', "export * from '../rest/path.ts';"],
  ['src/operations/new.ts', "export * from '../reading/trail.ts';"],
  ['src/operations/new.ts', "export * from '../selection.ts';"],
  ['src/prepared/new.ts', "export type { RequestReport } from '../reports.ts';"],
  ['src/context.ts', "export * from './rest/client.ts';"],
  ['src/login-guard.ts', "export * from './login-counter.ts';"],
  ['src/sandbox/new.ts', "export * from './store.ts';"],
  ['src/main.ts', 'export const processUsed = process;'],
];

describe('the linter', () => {
  const root = fileURLToPath(new URL('..', import.meta.url));
  let folder: string;
  const refused = new Set<string>();
  const place = (file: string, line: number) => `${file}:${line}`;
  const all = [...REFUSED, ...ALLOWED];
  const byFile = Map.groupBy(all, ([file]) => file);
  const placeOf = ([file, line]: Plant) =>
    place(file, 1 + (byFile.get(file) ?? []).findIndex((plant) => plant[1] === line));

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keytrail-'));
    for (const file of ['biome.json', '.gitignore']) await cp(join(root, file), join(folder, file));
    for (const [file, plants] of byFile) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), plants.map(([, line]) => `${line}\n`).join(''));
    }
    const { stdout } = spawnSync(
      join(root, 'node_modules/.bin/biome'),
      ['lint', '--reporter=github', '--max-diagnostics=none'],
      { cwd: folder, encoding: 'utf8' },
    );
    const rule =
      /title=lint\/style\/noRestricted(?:Imports|Globals),file=[^,]*?(src\/[^,]+),line=(\d+)/g;
    for (const [, file = '', line] of stdout.matchAll(rule)) refused.add(place(file, Number(line)));
  });

  afterAll(() => rm(folder, { recursive: true }));

  it.each(REFUSED)('refuses in %s: %s', (...plant) => {
    expect([...refused]).toContain(placeOf(plant));
  });

  it.each(ALLOWED)('allows in %s: %s', (...plant) => {
    expect([...refused]).not.toContain(placeOf(plant));
  });
});
