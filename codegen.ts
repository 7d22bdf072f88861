import { readFileSync, writeFileSync } from 'node:fs';
import { preset } from '@graphql-codegen/client-preset';
import { codegen } from '@graphql-codegen/core';
import { buildASTSchema, parse } from 'graphql';
import { z } from 'zod';
import { byOption, SETTINGS, type Setting } from './src/gateway/config/settings.ts';

/**
 * Generates the typed documents of `keytrail/client` from the schema and the operations, and the types of options that
 * are settings from the table of settings. With `--check` it only compares.
 * It calls graphql-codegen directly: its command needs two hundred packages to find files that are known here.
 */
const OPERATIONS = 'src/client/operations.graphql';
const OUTPUT = 'src/client/operations.generated.ts';
const OPTIONS = 'src/gateway/api/gateway-options.generated.ts';

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
/** The types of options by the types of their JSON Schemas. */
const TYPES: Readonly<Record<string, string>> = {
  boolean: 'boolean',
  integer: 'number',
  string: 'string',
  array: 'readonly string[]',
};

// These are written by hand in gateway-options.ts: a program passes other types than the command line.
const { contract: _contract, ...gateway } = byOption('', SETTINGS);
const { url: _url, headers: _headers, ...upstream } = byOption('upstream.', SETTINGS);
const generated = {
  [OUTPUT]: output
    .replace('@graphql-typed-document-node/core', './typed-document.ts')
    .replaceAll('Record<string, any>', 'Record<string, unknown>'),
  [OPTIONS]: `// Generated from src/gateway/config/settings.ts by npm run codegen.

/** The options of a gateway that are settings. */
export type GatewaySettings = ${printType(gateway)};

/** The options of the REST client that are settings. */
export type UpstreamSettings = ${printType(upstream)};
`,
};

for (const [file, text] of Object.entries(generated)) {
  if (!process.argv.includes('--check')) {
    writeFileSync(new URL(file, import.meta.url), text);
  } else if (text !== read(file)) {
    process.stderr.write(`${file} is stale: run npm run codegen\n`);
    process.exitCode = 1;
  }
}

/** Prints settings as the type of an object. Each has its description, what it must be, and its default. */
function printType(settings: Readonly<Record<string, Setting>>): string {
  const members = Object.entries(settings).map(([key, setting]) => {
    const { value, description, default: byDefault, defaultText } = setting;
    const { type } = z.toJSONSchema(value, { io: 'input' });
    const mustBe = value.safeParse(null).error?.issues[0]?.message;
    const text = [
      `${description[0]?.toUpperCase()}${description.slice(1)}.`,
      type === 'boolean' ? '' : ` It ${mustBe}.`,
      byDefault === undefined
        ? ` Default: ${defaultText}.`
        : ` @default ${JSON.stringify(byDefault)}`,
    ];
    return `  /** ${text.join('')} */\n  readonly ${key}?: ${TYPES[String(type)]} | undefined;\n`;
  });
  return `{\n${members.join('')}}`;
}
