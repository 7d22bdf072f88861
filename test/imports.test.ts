import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** A row of the table in CONTRIBUTING.md: folders or files of src/, what they may import, packages they may not. */
type Row = {
  readonly from: readonly string[];
  readonly allowed: readonly string[];
  readonly never: readonly string[];
};

/** A line planted in a file, and whether the linter must reject it. */
type Plant = { readonly file: string; readonly line: string; readonly isRejected: boolean };

const quoted = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);

function readTable(): readonly Row[] {
  const text = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8');
  const [, table = ''] = /\n\| folder \| may import .*\n\|[-|]+\n((?:\|.*\n)+)/.exec(text) ?? [];
  return table
    .trim()
    .split('\n')
    .map((line) => {
      const [, from, may = '', never] = line.split('|');
      const allowed = may.includes('everything but')
        ? ALL.filter((name) => !quoted(may).includes(name))
        : quoted(may);
      return { from: quoted(from), allowed, never: quoted(never) };
    });
}

/** Everything in src/ that can be imported. */
const ALL = [
  ...['errors.ts', 'gateway.ts', 'create-schema.ts', 'index.ts', 'main.ts', 'upstream/types.ts'],
  'upstream/status.ts',
  ...['util/', 'upstream/', 'mapping/', 'inference/', 'pagination/', 'schema/', 'observability/'],
  ...[
    'http/',
    'plugins/',
    'tail/',
    'tools/',
    'config/',
    'cli/',
    'api/',
    'serve/',
    'client/',
    'sandbox/',
    'testing/',
  ],
];

/** A file for each line: a new one in a folder, and the file itself where the row names one. */
function plantsOf({ from, allowed, never }: Row): readonly Plant[] {
  return from.flatMap((name) => {
    const up = name.endsWith('/') ? '../' : './';
    const others = ALL.filter((to) => to !== name && !to.startsWith(name));
    const plants = [
      ...others.map((to) => ({
        line: `export * from '${up}${to.endsWith('/') ? `${to}new.ts` : to}';`,
        isRejected: !allowed.includes(to),
      })),
      ...never.map((name) => ({ line: `export * from '${name}';`, isRejected: true })),
    ];
    const file = `src/${name.endsWith('/') ? `${name}planted.ts` : name}`;
    return plants.map((plant) => ({ file, ...plant }));
  });
}

const GLOBALS: readonly Plant[] = ['process', 'fetch', 'performance', 'crypto'].map((name) => ({
  file: 'src/cli/globals.ts',
  line: `export const ${name}Used = ${name};`,
  isRejected: true,
}));

describe('the linter', () => {
  const plants = [
    ...readTable().flatMap(plantsOf),
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

  it.each([...byFile])('enforces the table of CONTRIBUTING.md in %s', (file, own) => {
    const expected = own.filter(({ isRejected }) => isRejected).map(({ line }) => line);
    expect(own.map(({ line }) => line).filter((line) => rejected.has(`${file}: ${line}`))).toEqual(
      expected,
    );
  });

  it('knows every folder and file of the table', () => {
    expect(new Set(readTable().flatMap(({ from }) => from)).size).toBe(ALL.length - 3);
  });
});
