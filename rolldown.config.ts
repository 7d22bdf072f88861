import { readdirSync, readFileSync } from 'node:fs';
import { decode, encode, type SourceMapSegment } from '@jridgewell/sourcemap-codec';
import { defineConfig, type Plugin, type RolldownOptions } from 'rolldown';
import { createContractJsonSchema } from './src/gateway/config/contract-json-schema.ts';
import { createSchema } from './src/gateway/create-schema.ts';
import { printClientSchema } from './src/gateway/schema/federation.ts';
import { COMMAND_NAMES } from './src/terminal/commands.ts';
import { formatHelp } from './src/terminal/help.ts';

/** Removes indentation and file names, and maps lines instead of tokens: stack traces keep file and line, and the package is a third smaller. */
const mapLines: Plugin = {
  name: 'map-lines',
  generateBundle(_, bundle) {
    for (const output of Object.values(bundle)) {
      if (output.type === 'chunk') output.code = output.code.replace(/^(?:\t+|\/\/ src\/.*)/gm, ''); // no string of the sources contains either
      if (output.type !== 'asset' || !output.fileName.endsWith('.map')) continue;
      const map = JSON.parse(String(output.source));
      const mappings = decode(map.mappings).map((line) => line.slice(0, 1).map(toStart));
      output.source = JSON.stringify({ ...map, names: [], mappings: encode(mappings) });
    }
  },
};

function toStart([, ...source]: SourceMapSegment): SourceMapSegment {
  return [0, ...source] as SourceMapSegment; // same number of elements
}

/** Adds the licenses of what is copied from packages. */
const addLicenses: Plugin = {
  name: 'add-licenses',
  generateBundle(_, bundle) {
    const modules = Object.values(bundle).flatMap((output) =>
      output.type === 'chunk' ? output.moduleIds : [],
    );
    const folders = modules.flatMap(
      (id) => /node_modules\/(?:.*\/)?(?<=node_modules\/)(?:@[^/]+\/)?[^/]+/.exec(id) ?? [],
    );
    const names = new Map<string, Set<string>>(); // by the text of their license
    for (const folder of new Set(folders)) {
      const manifest = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
      const text = readLicense(folder, manifest);
      names.set(text, (names.get(text) ?? new Set()).add(manifest.name));
    }
    const parts = [...names].map(([text, of]) => `${[...of].join(', ')}:\n\n${text}`);
    this.emitFile({ type: 'asset', fileName: 'LICENSES', source: parts.join('\n') });
  },
};

/** The license of a package. Some only name it and the author: MIT, as ours. */
function readLicense(folder: string, { name, license, author }: Manifest): string {
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  if (file !== undefined) return readFileSync(`${folder}/${file}`, 'utf8');
  if (license !== 'MIT') throw new Error(`${folder} has no license`);
  const holder = author ?? `the authors of ${name}`;
  return readFileSync('LICENSE', 'utf8').replace(/^Copyright .*$/m, `Copyright (c) ${holder}`);
}

type Manifest = { readonly name: string; readonly license?: string; readonly author?: string };

/** Writes the texts of the help: formatting them takes three times as long as printing them. */
const writeHelp: Plugin = {
  name: 'write-help',
  load(id) {
    if (!id.endsWith('/src/terminal/built-help.ts')) return null;
    const texts = COMMAND_NAMES.map((name) => [name, formatHelp(name)] as const);
    const help = Object.fromEntries([['', formatHelp('keytrail')], ...texts]);
    return `export const HELP = ${JSON.stringify(help)};`;
  },
};

/** Adds the JSON Schema of the contract, for editors. */
const addContractSchema: Plugin = {
  name: 'add-contract-schema',
  generateBundle() {
    const source = `${JSON.stringify(createContractJsonSchema())}\n`;
    this.emitFile({ type: 'asset', fileName: 'contract.schema.json', source });
  },
};

/** Adds the GraphQL schema, for code generators. */
const addClientSchema: Plugin = {
  name: 'add-client-schema',
  generateBundle() {
    const source = printClientSchema(createSchema());
    this.emitFile({ type: 'asset', fileName: 'schema.graphql', source });
  },
};

/** The CommonJS of a package that cannot be bundled, as it passes `require` to a function, and its ES module. */
const ES_MODULE = { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' };

/** Options of all builds. */
const shared: RolldownOptions = {
  platform: 'node',
  plugins: [mapLines, addLicenses, writeHelp],
  resolve: { alias: ES_MODULE },
  checks: { bundlerTimings: false }, // on a slow machine it warns of `map-lines` after npm ci
  output: {
    sourcemap: true,
    sourcemapExcludeSources: true,
    comments: false,
    // Local names are shortened. Names of functions and classes stay, for stack traces.
    minify: {
      compress: { keepNames: { function: true, class: true } },
      mangle: { keepNames: true },
      codegen: { removeWhitespace: false },
    },
  },
};

const { dependencies }: { readonly dependencies: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync('package.json', 'utf8'),
);

/**
 * Whether the sources import a module from where npm installs it. The others are copied, with all that they import:
 * - `graphql`, and the packages that have it as a peer. Beside another version of it in the user's project, npm and Bun
 *   give those packages that one, and `graphql` refuses the objects of another copy.
 * - OpenTelemetry's API, an optional peer, and its core, of which a part is used.
 * - `jsonc-parser`, of which the parser is used.
 * - `zod`, of which a part is used: loading its own files takes a fifth of the CPU time of `audit`.
 * - The helper for `using`.
 */
function isInstalled(id: string, importer: string | undefined): boolean {
  if (importer === undefined || importer.includes('/node_modules/')) return false;
  const [name = ''] = /^(?:@[^/]+\/)?[^/]+/.exec(id) ?? [];
  return name in dependencies || name === '@opentelemetry/sdk-node';
}

/** Builds the packages, as Node refuses TypeScript under node_modules, and the command of the image. */
export default defineConfig([
  {
    ...shared,
    input: {
      index: 'src/index.ts',
      client: 'src/client/index.ts',
      'client-file': 'src/client/file-tokens.ts',
      testing: 'src/testing/testbed.ts',
      main: 'src/main.ts',
    },
    external: isInstalled,
    // An SDK serves every copy of the API whose minor version is not newer than its own: this is the oldest of the peer's range.
    resolve: { alias: { ...ES_MODULE, '@opentelemetry/api': 'opentelemetry-api-1.9' } },
    plugins: [mapLines, addLicenses, writeHelp, addContractSchema, addClientSchema],
    transform: { target: 'node20.19' }, // parsed by Node 20, to say which Node it needs
    output: {
      ...shared.output,
      dir: 'dist/keytrail/dist',
      sourcemapPathTransform: (source) => source.replace('../../', ''), // as if the package lay beside src/
    },
  },
  {
    // The command for an image, with its dependencies: most of a cold start is reading their 900 files.
    // External: what production may never load. Chunks of their own: OpenTelemetry's SDK, for OTEL_EXPORTER_OTLP_ENDPOINT,
    // and GraphiQL, for PLAYGROUND.
    ...shared,
    input: { main: 'src/main.ts' },
    external: 'ioredis',
    output: { ...shared.output, dir: 'dist/image' },
  },
  {
    ...shared,
    input: { index: 'src/client/index.ts', file: 'src/client/file-tokens.ts' },
    platform: 'neutral', // browsers too
    external: /^node:/, // of `file`
    plugins: [mapLines, addClientSchema],
    output: { ...shared.output, dir: 'dist/keytrail-client' },
  },
]);
