import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** A row of a table in CONTRIBUTING.md: folders or files of src/, what they may import, packages they may not. */
type Row = {
  readonly from: readonly string[];
  readonly allowed: readonly string[];
  readonly never: readonly string[];
};

/** A line planted in a file, and whether the linter must reject it. */
type Plant = { readonly file: string; readonly line: string; readonly isRejected: boolean };

const list = (folder: string) =>
  readdirSync(join(ROOT, 'src', folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() || /(?<!\.d)\.ts$/.test(entry.name))
    .map((entry) => `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`);

/** The folders and files of gateway/. */
const OF_GATEWAY = list('gateway/');

/** Everything in src/ that can be imported, with the files and the folder that have rows or cells of their own. */
const ALL = [
  ...list('').filter((name) => name !== 'gateway/'),
  ...OF_GATEWAY,
  ...['gateway/upstream/types.ts', 'gateway/upstream/status.ts', 'testing/sandbox/'],
];

const quoted = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

/** Reads the table that begins with a heading. Its names are below a folder. */
function readTable(heading: string, folder: string): readonly Row[] {
  const text = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  const [, table = ''] = text.split(`\n| ${heading} | may import`);
  const [, rows = ''] = /^.*\n\|[-|]+\n((?:\|.*\n)+)/.exec(table) ?? [];
  const within = ALL.filter((name) => name.startsWith(folder));
  return rows
    .trim()
    .split('\n')
    .map((line) => {
      const [, from, may = '', never] = line.split('|');
      const named = quoted(may).map((name) => folder + name);
      const isExcept = may.includes('everything');
      const allowed = isExcept ? within.filter((name) => !named.includes(name)) : named;
      return { from: quoted(from).map((name) => folder + name), allowed, never: quoted(never) };
    });
}

const HOUSES = readTable('house', '').filter(({ from }) => !from.includes('gateway/'));

/** What each part of gateway/ may import: beside its own row what the row of the house says. */
const PARTS = readTable('of `gateway/`', 'gateway/').map((row) => ({
  ...row,
  allowed: [...row.allowed, 'errors.ts', 'util/'],
}));

/** A file for each line: a new one in a folder, and the file itself where the row names one. */
function plantsOf({ from, allowed, never }: Row): readonly Plant[] {
  return from.flatMap((name) => {
    const own = name.endsWith('/') ? `${name}planted.ts` : name;
    const specifierOf = (to: string) => {
      const path = posix.relative(dirname(own), to.endsWith('/') ? `${to}new.ts` : to);
      return path.startsWith('.') ? path : `./${path}`;
    };
    const isOwn = (to: string) => to === name || (to.startsWith(name) && !HAS_ROW.has(to));
    const plants = [
      ...ALL.filter((to) => !isOwn(to)).map((to) => ({
        line: `export * from '${specifierOf(to)}';`,
        isRejected: !allowed.some((one) => to === one || (one.endsWith('/') && to.startsWith(one))),
      })),
      ...never.map((each) => ({ line: `export * from '${each}';`, isRejected: true })),
    ];
    return plants.map((plant) => ({ file: `src/${own}`, ...plant }));
  });
}

const HAS_ROW = new Set([...HOUSES, ...PARTS].flatMap(({ from }) => from));

const GLOBALS: readonly Plant[] = ['process', 'fetch', 'performance', 'crypto'].map((name) => ({
  file: 'src/terminal/globals.ts',
  line: `export const ${name}Used = ${name};`,
  isRejected: true,
}));

describe('the linter', () => {
  const plants = [
    ...[...HOUSES, ...PARTS].flatMap(plantsOf),
    ...GLOBALS,
    { file: 'src/main.ts', line: 'export const processUsed = process;', isRejected: false },
  ];
  const byFile = Map.groupBy(plants, ({ file }) => file);
  const rejected = new Set<string>();
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keytrail-'));
    for (const file of ['biome.json', '.gitignore']) await cp(join(ROOT, file), join(folder, file));
    for (const [file, own] of byFile) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), own.map(({ line }) => `${line}\n`).join(''));
    }
    const { stdout } = spawnSync(
      join(ROOT, 'node_modules/.bin/biome'),
      ['lint', '--reporter=github', '--max-diagnostics=none'],
      { cwd: folder, encoding: 'utf8' },
    );
    const rule =
      /title=lint\/style\/noRestricted(?:Imports|Globals),file=[^,]*?(src\/[^,]+),line=(\d+)/g;
    for (const [, file = '', line] of stdout.matchAll(rule)) {
      rejected.add(`${file}: ${byFile.get(file)?.[Number(line) - 1]?.line}`);
    }
  });

  afterAll(() => rm(folder, { recursive: true }));

  it.each([...byFile])('enforces the tables of CONTRIBUTING.md in %s', (file, own) => {
    const expected = own.filter(({ isRejected }) => isRejected).map(({ line }) => line);
    expect(own.map(({ line }) => line).filter((line) => rejected.has(`${file}: ${line}`))).toEqual(
      expected,
    );
  });

  it('finds a row for each house and each part of gateway/', () => {
    const withoutRow = ['main.ts', 'gateway/upstream/types.ts', 'gateway/upstream/status.ts'];
    expect([...HAS_ROW, ...withoutRow].toSorted()).toEqual(ALL.toSorted());
  });
});
