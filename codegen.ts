import { readFileSync, writeFileSync } from 'node:fs';
import { preset } from '@graphql-codegen/client-preset';
import { codegen } from '@graphql-codegen/core';
import { buildASTSchema, parse } from 'graphql';

/**
 * Generates the typed documents of `keytrail/client` from the schema and the operations. With `--check` it only compares.
 * It calls the generator directly: the command of graphql-codegen needs two hundred packages to find files that are
 * known here.
 */
const OPERATIONS = 'src/client/operations.graphql';
const OUTPUT = 'src/client/operations.generated.ts';

const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8');

const schema = parse(read('schema.graphql'));
const rawSDL = read(OPERATIONS);
const sections = await preset.buildGeneratesSection({
  baseOutputDir: 'src/client/',
  schema,
  schemaAst: buildASTSchema(schema, { assumeValidSDL: true }),
  documents: [{ location: OPERATIONS, rawSDL, document: parse(rawSDL) }],
  config: {
    documentMode: 'string',
    importExtension: '.ts',
    enumsAsTypes: true,
    useTypeImports: true,
    strictScalars: true,
    scalars: { DateTime: 'string', JSON: 'unknown' },
  },
  presetConfig: { fragmentMasking: false },
  plugins: [],
  pluginMap: {},
});
const section = sections.find(({ filename }) => filename === 'src/client/graphql.ts'); // the preset's own name
if (section === undefined) throw new Error(`The preset generated no ${OUTPUT}.`);
const output = await codegen({
  ...section,
  filename: OUTPUT,
  cache: (_namespace, _key, make) => make(),
});
const generated = output.replace('@graphql-typed-document-node/core', './typed-document.ts');

if (!process.argv.includes('--check')) {
  writeFileSync(new URL(OUTPUT, import.meta.url), generated);
} else if (generated !== read(OUTPUT)) {
  process.stderr.write(`${OUTPUT} is stale: run npm run codegen\n`);
  process.exitCode = 1;
}
