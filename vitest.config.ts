import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

type Options = NonNullable<TestProjectInlineConfiguration['test']>;

/** Imports the sources as `keytrail/…`, for the examples. */
const SOURCES: Options = {
  execArgv: ['--import', new URL('test/helpers/resolve-to-sources.ts', import.meta.url).href],
};

/** Importing a module has no side effects; importing all of them takes one second of CPU per file. */
const SUITE: Options = { ...SOURCES, isolate: false, testTimeout: 60_000 };

/** Folders of the suite for which any Node is the same: they test functions of values, and what services send. */
const PORTABLE = [
  ...['config', 'inference', 'mapping', 'pagination', 'schema'].map((name) => `gateway/${name}`),
  ...['real-services', 'released', 'shapes'],
];

/**
 * Likewise the tests of commands that read and write files, of formats, of equal bytes, of bodies once they are read, and
 * of files of this repository.
 */
const PORTABLE_FILES = [
  'test/testing/*.test.ts',
  'test/terminal/{audit-formats,check,completion,delete-key}.test.ts',
  'test/terminal/{learn,learn-parts,record,redaction}.test.ts',
  'test/{faults/subscription-bounds,gateway/plugins/fast-path,testing/sandbox/recording}.test.ts',
  'test/gateway/serve/format-log-line.test.ts',
  'test/gateway/upstream/{bad-responses,decode-response,partial-json}.test.ts',
  'test/{ci-steps,docs,imports,lock-files,gateway/observability/grafana}.test.ts',
];

/** Folders that are no part of the suite, each a project of its own. */
const OTHERS: Readonly<Record<string, Options>> = {
  security: {},
  tail: { testTimeout: 900_000 },
  package: {},
  docs: { testTimeout: 600_000, maxConcurrency: 4 },
  browser: {},
  federation: {},
  frameworks: {},
  'graphql-clients': SOURCES,
  deploy: {},
  tools: {},
};

const inFolders = (folders: readonly string[]) =>
  folders.map((folder) => `test/${folder}/**/*.test.ts`);

function project(
  name: string,
  include: string[],
  options: Options,
): TestProjectInlineConfiguration {
  return {
    test: {
      name,
      include,
      // Node runs the sources, as in production. Vite's module runner would load a second copy of graphql.
      experimental: { viteModuleRunner: false },
      // Deadlines only end what hangs: on a busy machine, everything takes ten times as long.
      testTimeout: 300_000,
      hookTimeout: 300_000,
      expect: { poll: { interval: 10, timeout: 30_000 } },
      ...options,
    },
  };
}

export default defineConfig({
  test: {
    maxWorkers: '100%', // by default Vitest leaves a core unused; most of the suite waits for processes and sockets
    projects: [
      project('suite', ['test/**/*.test.ts'], {
        ...SUITE,
        exclude: [
          ...[...PORTABLE, ...Object.keys(OTHERS)].map((folder) => `test/${folder}/**`),
          ...PORTABLE_FILES,
        ],
      }),
      project('suite-portable', [...inFolders(PORTABLE), ...PORTABLE_FILES], SUITE),
      ...Object.entries(OTHERS).map(([name, options]) => project(name, inFolders([name]), options)),
    ],
  },
});
