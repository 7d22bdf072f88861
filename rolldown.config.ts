import { decode, encode, type SourceMapSegment } from '@jridgewell/sourcemap-codec';
import { defineConfig, type Plugin, type RolldownOptions } from 'rolldown';

/** Lines that are not indented, without the names of files, and a map of them instead of tokens: a stack still names the place, and the package is a third smaller. */
const mapLines: Plugin = {
  name: 'map-lines',
  generateBundle(_, bundle) {
    for (const output of Object.values(bundle)) {
      if (output.type === 'chunk') output.code = output.code.replace(/^(?:\t+|\/\/ src\/.*)/gm, ''); // texts of ours have neither
      if (output.type !== 'asset' || !output.fileName.endsWith('.map')) continue;
      const map = JSON.parse(String(output.source));
      const mappings = decode(map.mappings).map((line) => line.slice(0, 1).map(toStart));
      output.source = JSON.stringify({ ...map, names: [], mappings: encode(mappings) });
    }
  },
};

function toStart([, ...source]: SourceMapSegment): SourceMapSegment {
  return [0, ...source] as SourceMapSegment; // as many as there were
}

/** What both have in common. */
const shared: RolldownOptions = {
  platform: 'node',
  treeshake: { moduleSideEffects: true }, // operations register themselves by being imported
  plugins: [mapLines],
  output: {
    cleanDir: true,
    sourcemap: true,
    sourcemapExcludeSources: true,
    comments: false,
    // Names inside of functions are shortened: what a stack shows, functions and lines, stays.
    minify: {
      compress: { keepNames: { function: true, class: true } },
      mangle: { keepNames: true },
      codegen: { removeWhitespace: false },
    },
  },
};

/** What `npm run build` makes of the sources: Node refuses TypeScript under node_modules. */
export default defineConfig([
  {
    ...shared,
    input: {
      index: 'src/index.ts',
      client: 'src/client/client.ts',
      testing: 'src/testing/testbed.ts',
      main: 'src/main.ts',
    },
    external: /^[^./]/, // dependencies are installed, not copied
    output: { ...shared.output, dir: 'dist' },
  },
  {
    // The command for an image, dependencies in it: most of a start is finding and reading 900 files of theirs.
    // Left out is what production may never need.
    ...shared,
    input: { main: 'src/main.ts' },
    external: /^(?:@graphql-yoga\/render-graphiql|ioredis|pino-pretty)$/,
    output: { ...shared.output, dir: 'dist/image' },
  },
]);
