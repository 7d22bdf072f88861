import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSchema, isObjectType, Kind, parse, print, validate } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { copyClone, createBuiltClone } from '../helpers/clone.ts';
import { type Block, readBlocks } from './markdown.ts';
import { runPage } from './run-page.ts';
import { userEnvironment } from './terminal.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const DOCS = await readdir(join(ROOT, 'docs'));
const PAGES = [
  'README.md',
  ...DOCS.filter((name) => name.endsWith('.md')).map((name) => `docs/${name}`),
];
const LOOPBACK = '127.0.0.1';
const read = (page: string) => readFile(join(ROOT, page), 'utf8');

/** Blocks that do not run here: the page, how they begin, and why. */
const NOT_RUN: readonly (readonly [page: string, start: string, reason: string])[] = [
  ['README.md', 'npm ci && npm test', 'CI runs it in a step of its own'],
  ['docs/deployment.md', 'docker build', 'it needs a Docker engine'],
  ['docs/deployment.md', 'docker run', 'it needs a Docker engine'],
  ['docs/deployment.md', 'export UPSTREAM_URL', 'it needs a Docker engine'],
  ['docs/deployment.md', 'kubectl create', 'it needs a cluster'],
  ['docs/your-service.md', 'docker run', 'it needs a Docker engine'],
  [
    'docs/frameworks.md',
    'import { createGateway, type Gateway }',
    'test/frameworks/next.test.ts builds it with Next',
  ],
  [
    'docs/siem.md',
    'useradd',
    'it needs cron or systemd; test/deploy/siem.test.ts runs the commands',
  ],
  ['docs/siem.md', 'install -D', 'it needs systemd; test/deploy/siem.test.ts checks the file'],
  ['docs/siem.md', 'kubectl create', 'it needs a cluster'],
  ['docs/performance.md', 'npm run bench', 'it takes five minutes on an idle machine'],
];

const isRun = (page: string) => (block: Block) =>
  !NOT_RUN.some(([name, start]) => name === page && block.text.startsWith(start));

const RUN: string[] = [];
for (const page of PAGES) {
  const blocks = readBlocks(await read(page)).filter(isRun(page));
  if (blocks.some(({ language }) => language === 'sh')) RUN.push(page);
}

/** Writes another loopback address into all files of a clone. */
function moveTo(address: string, clone: string): void {
  const find = `grep -rlIZF ${LOOPBACK} . --exclude-dir=node_modules`;
  execFileSync('sh', ['-c', `${find} | xargs -0 sed -i 's/${LOOPBACK}/${address}/g'`], {
    cwd: clone,
  });
}

describe('every block runs, twice in a row, on', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'keytrail-docs-'));
  const original = join(scratch, 'keytrail');
  const bin = join(original, 'test/docs/bin');
  beforeAll(async () => {
    await createBuiltClone(original);
    symlinkSync(ROOT, join(scratch, 'repository')); // for bin/npm
    const env = userEnvironment({ folder: original, bin });
    execFileSync(process.execPath, ['scripts/start.mjs', 'schema'], { cwd: original, env }); // fills the compile cache
  });
  afterAll(() => rmSync(scratch, { recursive: true }));

  // Pages use the same ports. Each has a loopback address of its own, so that they can run side by side.
  it.concurrent.each(RUN)('%s', async (page) => {
    const clone = join(scratch, page.replaceAll('/', '-'), 'keytrail');
    copyClone(original, clone);
    const address = `127.0.0.${2 + PAGES.indexOf(page)}`; // on Linux, all of 127.0.0.0/8 is loopback
    moveTo(address, clone);
    const text = (await read(page)).replaceAll(LOOPBACK, address);
    for (const pass of ['first', 'second']) {
      await runPage(text, { folder: clone, bin }, isRun(page)).catch((error: unknown) => {
        if (error instanceof Error) error.message = `${page}, ${pass} time, ${error.message}`;
        throw error;
      });
    }
    rmSync(dirname(clone), { recursive: true });
  });
});

describe('every block', () => {
  it('that does not run is on a page', async () => {
    for (const [page, start] of NOT_RUN) {
      const blocks = readBlocks(await read(page));
      expect(
        blocks.some(({ text }) => text.startsWith(start)),
        `${page}: ${start}`,
      ).toBe(true);
    }
  });

  it.each(PAGES)('of JSON, JavaScript or TypeScript is output, or a file: %s', async (page) => {
    for (const { line, language, attributes } of readBlocks(await read(page))) {
      if (!/^(?:json|js|ts|javascript|typescript)$/.test(language)) continue;
      expect([...attributes.keys()], `line ${line}`).toContainEqual(
        expect.stringMatching(/^(?:output|file)$/),
      );
    }
  });

  it.each(PAGES)('of GraphQL fits the schema: %s', async (page) => {
    const schema = buildSchema(await read('schema.graphql'), { assumeValidSDL: true });
    for (const { line, language, text } of readBlocks(await read(page))) {
      if (language !== 'graphql') continue;
      const document = parse(text);
      const types = document.definitions.filter(
        (node) => node.kind === Kind.OBJECT_TYPE_DEFINITION,
      );
      if (types.length === 0) expect(validate(schema, document), `line ${line}`).toEqual([]);
      // A type with a directive is one of another subgraph.
      for (const { name, fields = [] } of types.filter(({ directives = [] }) => !directives[0])) {
        const type = schema.getType(name.value);
        const actual = isObjectType(type) ? type.getFields() : {};
        for (const field of fields) {
          const args = actual[field.name.value]?.args.map(({ name, type }) => `${name}: ${type}`);
          expect(print(field.type), `line ${line}`).toBe(String(actual[field.name.value]?.type));
          for (const arg of field.arguments ?? [])
            expect(args).toContain(`${arg.name.value}: ${print(arg.type)}`);
        }
      }
    }
  });
});
