import { defineConfig } from 'vitest/config';

// Node runs the sources, as in production. Vite's module runner would load a second copy of graphql.
const experimental = { viteModuleRunner: false };

const RESOLVE_TO_SOURCES = new URL('test/helpers/resolve-to-sources.ts', import.meta.url).href;

export default defineConfig({
  test: {
    maxWorkers: '100%', // by default Vitest leaves a core unused; most of the suite waits for processes and sockets
    projects: [
      {
        test: {
          name: 'suite',
          include: ['test/**/*.test.ts'],
          exclude: [
            'browser',
            'deploy',
            'docs',
            'federation',
            'frameworks',
            'graphql-clients',
            'package',
            'security',
            'tail',
            'tools',
          ].map((folder) => `test/${folder}/**`),
          execArgv: ['--import', RESOLVE_TO_SOURCES], // for the examples
          isolate: false, // importing a module has no side effects; importing all of them takes one second of CPU per file
          experimental,
          testTimeout: 15_000,
        },
      },
      {
        test: {
          name: 'security',
          include: ['test/security/**/*.test.ts'],
          experimental,
          testTimeout: 15_000,
        },
      },
      {
        test: {
          name: 'tail',
          include: ['test/tail/*.test.ts'],
          experimental,
          testTimeout: 300_000,
        },
      },
      {
        test: {
          name: 'package',
          include: ['test/package/**/*.test.ts'],
          experimental,
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'docs',
          include: ['test/docs/*.test.ts'],
          experimental,
          testTimeout: 300_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          experimental,
          testTimeout: 90_000,
        },
      },
      {
        test: {
          name: 'federation',
          include: ['test/federation/**/*.test.ts'],
          experimental,
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'frameworks',
          include: ['test/frameworks/*.test.ts'],
          experimental,
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'clients',
          include: ['test/graphql-clients/*.test.ts'],
          execArgv: ['--import', RESOLVE_TO_SOURCES], // for the examples
          experimental,
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'deploy',
          include: ['test/deploy/*.test.ts'],
          experimental,
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'tools',
          include: ['test/tools/*.test.ts'],
          experimental,
          testTimeout: 60_000,
        },
      },
    ],
  },
});
