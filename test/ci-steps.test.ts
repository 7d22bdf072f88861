import { execFileSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The rows of the table: a prefix of paths, and its steps. */
const ROWS = readFileSync(join(ROOT, '.ci/touches'), 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => line.split(/ +/))
  .map(([prefix = '', ...steps]) => ({ prefix, steps }));

const PREFIXES = ROWS.map(({ prefix }) => prefix);

/** The folders of src/ whose folders have a row each. */
const LEVELS = new Set(
  PREFIXES.filter((prefix) => prefix.startsWith('src/')).map((prefix) => `${dirname(prefix)}/`),
);

describe('.ci/run', () => {
  let repository: string;

  const run = (command: string, ...args: readonly string[]) =>
    execFileSync(command, args, { cwd: repository, encoding: 'utf8', stdio: 'pipe' });
  const git = (...args: readonly string[]) =>
    run('git', '-c', 'user.name=Ann', '-c', 'user.email=ann@example.com', ...args);
  const list = (...args: readonly string[]) =>
    run('.ci/run', '--list', ...args)
      .trim()
      .split('\n');
  const write = (path: string) => {
    mkdirSync(dirname(join(repository, path)), { recursive: true });
    writeFileSync(join(repository, path), '');
  };
  /** The steps for new files. */
  const stepsOf = (...paths: readonly string[]) => {
    for (const path of paths) write(path);
    return list('--changed', 'HEAD');
  };

  beforeAll(() => {
    repository = mkdtempSync(join(tmpdir(), 'keytrail-'));
    cpSync(join(ROOT, '.ci'), join(repository, '.ci'), { recursive: true });
    git('init', '--quiet');
    git('add', '.');
    git('commit', '--quiet', '--message', 'first');
  });

  beforeEach(() => {
    git('reset', '--quiet', '--hard');
    git('clean', '--quiet', '-d', '--force');
  });

  afterAll(() => rmSync(repository, { recursive: true }));

  it('runs every check and test of package.json, each by a row of the table', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const tests = Object.keys(scripts).filter((name) => /^(?:test|check$|audit:)/.test(name));
    expect(list().toSorted()).toEqual(tests.toSorted());
    const named = new Set(ROWS.flatMap(({ steps }) => steps));
    expect([...named].toSorted()).toEqual(['all', ...list()].toSorted());
  });

  it.each([...LEVELS])('has a row for each folder of %s', (level) => {
    const folders = readdirSync(join(ROOT, level), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${level}${name}/`);
    expect(folders.filter((folder) => !LEVELS.has(folder) && !PREFIXES.includes(folder))).toEqual(
      [],
    );
  });

  it('has no row twice, or without a file', () => {
    const files = execFileSync('git', ['ls-files'], { cwd: ROOT, encoding: 'utf8' }).split('\n');
    const isStale = (prefix: string) => !files.some((file) => file.startsWith(prefix));
    expect(PREFIXES.filter(isStale)).toEqual([]);
    expect(new Set(PREFIXES).size).toBe(PREFIXES.length);
  });

  it.each([
    ...[
      'new',
      'src/new.ts',
      'src/new/a.ts',
      'src/gateway/gateway.ts',
      'src/util/a.ts',
      'docs-a',
      'docs/é',
    ],
    ...['package.json', 'package-lock.json', 'test/deploy/package-lock.json', 'bench/package.json'],
    ...['.ci/new', 'rolldown.config.ts', 'vitest.config.ts', '.github/workflows/ci.yml'],
  ])('runs everything if %s changes', (path) => {
    expect(stepsOf(path)).toEqual(list());
    expect(stepsOf('docs/a.md', path)).toEqual(list());
  });

  it.each<[paths: string, steps: readonly string[]]>([
    ['docs/a.md', ['test:docs', 'test', 'check']],
    ['docs/siem.md', ['test:docs', 'test', 'test:deploy', 'check']],
    ['test/gateway/mapping/a.test.ts', ['test', 'test:newest', 'check']],
    ['test/browser/a.test.ts', ['test:browser', 'check']],
    ['test/browser/a.ts test/security/b.ts', ['test:browser', 'audit:security', 'check']],
    ['bench/package.ts', ['test:docs', 'check']],
  ])('runs of the steps, in their order, those of the longest prefix: %s', (paths, steps) => {
    expect(stepsOf(...paths.split(' '))).toEqual(steps);
  });

  it('tests the client with what uses it', () => {
    const steps = [
      'check',
      'test',
      'test:browser',
      'test:clients',
      'test:frameworks',
      'test:package',
    ];
    expect(stepsOf('src/client/a.ts')).toEqual(expect.arrayContaining(steps));
  });

  it('runs nothing if nothing has changed', () => {
    expect(list('--changed', 'HEAD')).toEqual(['No step tests what has changed.']);
    expect(run('.ci/run', '--changed', 'HEAD')).toBe('No step tests what has changed.\n');
  });

  it('knows what is new, changed, committed, renamed or deleted since', () => {
    expect(stepsOf('bench/a.ts', 'test/tail/a.ts')).toEqual(['test:docs', 'test:tail', 'check']);
    git('add', '.');
    git('commit', '--quiet', '--message', 'second');
    expect(list('--changed', 'HEAD^')).toEqual(['test:docs', 'test:tail', 'check']);
    writeFileSync(join(repository, 'test/tail/a.ts'), 'changed');
    expect(list('--changed', 'HEAD')).toEqual(['test:tail', 'check']);
    git('add', '.');
    expect(list('--changed', 'HEAD')).toEqual(['test:tail', 'check']);
    git('mv', 'bench/a.ts', 'test/a.ts');
    const renamed = ['test:docs', 'test', 'test:newest', 'test:tail', 'check'];
    expect(list('--changed', 'HEAD')).toEqual(renamed);
    git('rm', '--quiet', '--force', 'test/a.ts', 'test/tail/a.ts');
    expect(list('--changed', 'HEAD')).toEqual(['test:docs', 'test:tail', 'check']);
  });

  it.each([['--changed'], ['--changed', 'none'], ['--listed'], ['HEAD']])(
    'refuses %s %s',
    (...args) => {
      expect(() => run('.ci/run', ...args)).toThrow('Command failed');
    },
  );
});
