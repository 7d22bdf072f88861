import type { CodegenConfig } from '@graphql-codegen/cli';

/** Typed documents for the tests, from the operations that they name with `graphql(...)`. */
const config: CodegenConfig = {
  schema: 'schema.graphql',
  documents: ['test/helpers/operations.ts'],
  generates: {
    'test/generated/': {
      preset: 'client',
      presetConfig: { fragmentMasking: false },
      config: {
        documentMode: 'string',
        importExtension: '.ts',
        enumsAsTypes: true,
        useTypeImports: true,
        strictScalars: true,
        scalars: { DateTime: 'string', JSON: 'unknown' },
      },
    },
  },
};

export default config;
