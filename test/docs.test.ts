import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { Kind, parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import { type ErrorCode, FAILURES, GatewayError } from '../src/errors.ts';
import { checkContract } from '../src/gateway/config/contract-schema.ts';
import { createMetrics } from '../src/gateway/observability/metrics.ts';
import { renderEntries, renderFields } from './docs/contract-tables.ts';
import { anchorsOf, readBlocks } from './docs/markdown.ts';
import { renderSettings } from './docs/settings-tables.ts';
import { ask, gatewayOver } from './helpers/gateway.ts';
import { startService } from './helpers/service.ts';

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');
const list = (folder: string) => readdirSync(new URL(`../${folder}`, import.meta.url));

const PAGES = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'].concat(
  list('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
);

/** Every file in Markdown, wherever it is. */
const ALL_PAGES = execFileSync('git', ['ls-files', '*.md'], {
  cwd: new URL('..', import.meta.url),
  encoding: 'utf8',
})
  .trim()
  .split('\n');

/** The cells of each row whose first cell is a name in code. */
function rowsOf(page: string): readonly (readonly string[])[] {
  return [...read(page).matchAll(/^\| `(\w+)` \| (.*) \|$/gm)].map(([, name = '', cells = '']) => [
    name,
    ...cells.split(' | '),
  ]);
}

/** The selection of the fields that a value has. */
function selectionOf(value: unknown): string {
  const [object] = [value].flat();
  if (typeof object !== 'object' || object === null) return '';
  const fields = Object.entries(object).map(([name, each]) => `${name} ${selectionOf(each)}`);
  return `{ ${fields.join(' ')} }`;
}

describe('the documentation', () => {
  it('has a README of at most 150 lines with a command on the first screen, and pages of at most 250', () => {
    const README = read('README.md').split('\n');
    expect(README.length).toBeLessThanOrEqual(151); // the last line ends with a newline
    expect(README.slice(0, 21)).toContain('npm ci && npm start');
    for (const page of PAGES) expect(read(page).split('\n').length, page).toBeLessThanOrEqual(251);
  });

  it('has a README that begins with a response, and what Keytrail returns for it', async () => {
    const [head = '', ...lines] = readBlocks(read('README.md'))[0]?.text.split('\n') ?? [];
    const column = head.indexOf('Keytrail returns');
    const expected: unknown = JSON.parse(lines.map((line) => line.slice(column)).join(''));
    const body = lines.map((line) => line.slice(0, column)).join('');
    await using service = await startService({ body });
    await using gateway = gatewayOver(service.url);
    const { data, errors } = await ask(gateway, selectionOf(expected), {}, { token: 't' });
    expect(errors).toBeUndefined();
    expect(data).toEqual(expected);
  });

  it('has a README that links every page and the schema', () => {
    for (const page of PAGES.slice(1)) expect(read('README.md')).toContain(`](${page})`);
    expect(read('README.md')).toContain('](schema.graphql)');
  });

  it('has an llms.txt that links every page once, each link with a sentence', () => {
    const [title, , summary, , ...lines] = read('llms.txt').split('\n');
    expect(title).toBe('# Keytrail');
    expect(summary).toMatch(/^> .+\.$/);
    const items = lines.filter((line) => line.startsWith('- '));
    const links = items.map((line) => /^- \[[^\]]+\]\(([^)]+)\): .+\.$/.exec(line)?.[1] ?? line);
    for (const link of links) expect(read(link).length, link).toBeGreaterThan(0); // throws if there is no such file
    expect(links.toSorted()).toEqual([...PAGES, 'schema.graphql'].toSorted());
  });

  it.each(ALL_PAGES)('has only links that lead to a file and a heading: %s', (page) => {
    for (const [, target = ''] of read(page).matchAll(/\]\((?!https?:)([^)]+)\)/g)) {
      const [file = '', anchor] = target.split('#');
      const path = file === '' ? page : new URL(file, `file:///${page}`).pathname.slice(1);
      const text = read(path); // throws if there is no such file
      expect(text.length).toBeGreaterThan(0);
      if (anchor !== undefined) expect(anchorsOf(text), target).toContain(anchor);
    }
  });

  it('lists every setting with its option, default and meaning (npm run docs)', () => {
    expect(read('docs/configuration.md')).toContain(`\n${renderSettings()}\n`);
  });

  it('lists every field of an event, and every entry of a contract with its values (npm run docs)', () => {
    expect(read('docs/schema.md')).toContain(`\n\n${renderFields()}\n`);
    expect(read('docs/contract-reference.md')).toContain(`\n\n${renderEntries()}\n`);
  });

  it('lists every error code in order, with what `retryable` is', () => {
    const codes = rowsOf('docs/errors.md').filter(([name = '']) => name in FAILURES);
    expect(codes.map(([name]) => name)).toEqual(Object.keys(FAILURES));
    for (const [name, , , retryable = ''] of codes) {
      const byDefault = new GatewayError(name as ErrorCode).extensions.retryable; // a key of FAILURES
      if (/^(?:true|false)$/.test(retryable))
        expect(`${name} ${retryable}`).toBe(`${name} ${byDefault}`);
    }
  });

  it('lists every reason', () => {
    const union =
      /export type FailureReason =\n((?: {2}\| .*\n)+)/.exec(read('src/errors.ts'))?.[1] ?? '';
    const reasons = [...union.matchAll(/'(\w+)'/g)].map(([, name]) => name);
    expect(reasons.length).toBeGreaterThan(10);
    const listed = rowsOf('docs/errors.md').map(([name]) => name);
    for (const reason of reasons) expect(listed).toContain(reason);
  });

  it('gives the origin of every field in the schema', () => {
    const page = read('docs/schema.md');
    const fields = parse(read('schema.graphql')).definitions.flatMap((type) =>
      type.kind === Kind.OBJECT_TYPE_DEFINITION || type.kind === Kind.INPUT_OBJECT_TYPE_DEFINITION
        ? (type.fields ?? []).map(({ name }) => `${type.name.value}.${name.value}`)
        : [],
    );
    expect(fields.length).toBeGreaterThan(40);
    expect(fields.filter((field) => !page.includes(`\`${field}\``))).toEqual([]);
  });

  it('defines words in alphabetical order, each with a link', () => {
    const rows = [...read('docs/glossary.md').matchAll(/^\| (.+?) \| (.*) \|$/gm)].slice(1);
    const words = rows.map(([, word = '']) => word);
    expect(words.length).toBeGreaterThan(30);
    expect(words).toEqual(words.toSorted((one, other) => one.localeCompare(other, 'en')));
    for (const [, word, meaning = ''] of rows) expect(meaning, word).toMatch(/\]\(\S+\)$/);
  });

  it('lists every metric', async () => {
    const names = [...(await createMetrics().text()).matchAll(/^# TYPE (keytrail_\w+) /gm)];
    expect(names.length).toBeGreaterThan(8);
    const listed = rowsOf('docs/observability.md').map(([name]) => name);
    for (const [, name] of names) expect(listed).toContain(name);
  });

  it('lists every client of examples/clients/', () => {
    for (const file of list('examples/clients').filter((name) => name !== 'settings.ts'))
      expect(read('docs/tutorial.md')).toContain(`| \`${file}\` |`);
  });

  it('shows the files of examples/', () => {
    const fileOf = (page: string, file: string) =>
      readBlocks(read(page)).find(({ attributes }) => attributes.get('file') === file)?.text;
    expect(fileOf('docs/library.md', 'gateway.ts')).toBe(read('examples/library.ts'));
    for (const name of ['express.ts', 'fastify.ts', 'hono.ts', 'koa.ts'])
      expect(fileOf('docs/frameworks.md', name)).toBe(read(`examples/frameworks/${name}`));
    expect(fileOf('docs/own-login.md', 'own-login.ts')).toBe(
      read('examples/frameworks/own-login.ts'),
    );
    const route = 'app/graphql/route.ts';
    expect(fileOf('docs/frameworks.md', route)).toBe(read(`examples/next/${route}`));
    for (const name of [
      'apollo-cache.ts',
      'graphcache.ts',
      'graphql-request.ts',
      'query-client.ts',
    ])
      expect(fileOf('docs/graphql-clients.md', name)).toBe(
        read(`examples/graphql-clients/${name}`),
      );
    expect(fileOf('docs/clients.md', 'follow.ts')).toBe(read('examples/follow.ts'));
    expect(fileOf('docs/testing.md', 'audit.test.ts')).toBe(read('examples/testing.test.ts'));
    for (const name of ['recorded.test.ts', 'check.yml'])
      expect(fileOf('docs/recording.md', name)).toBe(read(`examples/recording/${name}`));
    expect(fileOf('docs/observability.md', 'tracing.js')).toBe(read('examples/tracing.js'));
    expect(fileOf('docs/contracts.md', 'contract.json')).toBe(
      read('examples/contract/contract.json'),
    );
  });

  it('shows only contract entries that Keytrail accepts', () => {
    const rows = read('docs/contract-reference.md').matchAll(
      /^\|(?: `([$\w.]+)`[^|]*)? \| (.*) \|$/gm,
    );
    let entry = '';
    const examples = [...rows].flatMap(([, name, cell = '']) => {
      entry = name ?? entry;
      const spans = [...cell.matchAll(/`(\{.*?\}|".*?"|\[.*?\])`/g)].map(([, text = '']) => text);
      return spans.map((text) => [entry, text] as const);
    });
    expect(examples.length).toBeGreaterThan(8);
    for (const [name, text] of examples) {
      const value: unknown = JSON.parse(text);
      const names = name.split('.');
      const contract = names.reduceRight((member, one) => ({ [one]: member }), value);
      expect(checkContract(contract), `${name}: ${text}`).toEqual({ contract });
    }
  });

  it('names the Node that npm ci installs, as version managers read it', () => {
    const { node } = JSON.parse(read('package.json')).optionalDependencies;
    expect(read('.node-version')).toBe(`${node}\n`);
    expect(read('docs/install.md')).toContain(
      `\`npm ci\` installs Node ${node} by the npm package \`node\``,
    );
  });

  it('names only scripts that exist', () => {
    const scripts = Object.keys(JSON.parse(read('package.json')).scripts);
    for (const page of PAGES)
      for (const [, name = ''] of read(page).matchAll(/npm run ([\w:]+)/g))
        expect(scripts, page).toContain(name);
  });
});
