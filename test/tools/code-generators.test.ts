import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, validate } from 'graphql';
import { loadConfig } from 'graphql-config';
import { describe, expect, it } from 'vitest';
import { createTestbed } from '../../src/testing/testbed.ts';
import { createFolder, printClientSchema, runTool } from './run-tool.ts';

const PROGRAMS = fileURLToPath(new URL('programs', import.meta.url));
const TYPES = fileURLToPath(new URL('../../node_modules/@types', import.meta.url));
const OPERATIONS = fileURLToPath(new URL('../../src/client/operations.graphql', import.meta.url));
const SUBGRAPH = fileURLToPath(new URL('../../schema.graphql', import.meta.url));
/** The schema in the package of the client, once it is built. */
const PACKAGED = fileURLToPath(
  new URL('../../dist/keytrail-client/schema.graphql', import.meta.url),
);
const SCHEMA = await printClientSchema();

/** A folder with the schema for clients, as `keytrail schema --client` prints it. */
async function createProject() {
  const folder = await createFolder();
  await writeFile(join(folder.path, 'schema.graphql'), SCHEMA);
  return folder;
}

describe('genql', () => {
  it('generates a client that type-checks, and runs against a gateway', async () => {
    await using folder = await createProject();
    await using keytrail = await createTestbed({ strictLogin: false });
    const run = (command: string, ...args: readonly string[]) =>
      runTool(folder.path, command, ...args);
    await cp(join(PROGRAMS, 'genql.ts'), join(folder.path, 'program.ts'));
    const generated = await run(
      'genql',
      ...['--schema', 'schema.graphql', '--output', 'generated'],
      ...['-S', 'DateTime:string', '-S', 'JSON:unknown'],
    );
    expect(generated.status, generated.stderr).toBe(0);
    const checked = await run(
      'tsc',
      ...['program.ts', '--noEmit', '--ignoreConfig', '--strict', '--skipLibCheck'],
      ...['--module', 'esnext', '--moduleResolution', 'bundler', '--target', 'es2024'],
      ...['--allowImportingTsExtensions', '--typeRoots', TYPES, '--types', 'node'],
    );
    expect(checked.stdout).toBe('');
    // The generated modules import each other without extensions: a bundler resolves them.
    const bundled = await run('rolldown', 'program.ts', '--platform', 'node', '--dir', 'out');
    expect(bundled.status, bundled.stderr).toBe(0);
    const { stdout } = await run('node', 'out/program.js', keytrail.url);
    expect(JSON.parse(stdout)).toEqual([
      Array.from({ length: 2 }, () => ({
        action: 'key.rotate',
        occurredAt: expect.any(String),
        raw: 'demo-admin',
      })),
      'string',
      'DELETED',
      'UNAUTHENTICATED',
    ]);
    const methods = keytrail.requests.map(({ method }) => method);
    expect(methods.filter((method) => method !== 'GET')).toEqual(['POST', 'DELETE']);
  });
});

describe('relay-compiler', () => {
  it('compiles a connection, and a gateway runs the compiled operation', async () => {
    await using folder = await createProject();
    await using keytrail = await createTestbed();
    await mkdir(join(folder.path, 'src'));
    await cp(join(PROGRAMS, 'relay.ts'), join(folder.path, 'src/relayTrail.ts'));
    const config = {
      src: './src',
      schema: './schema.graphql',
      language: 'typescript',
      eagerEsModules: true,
      useImportTypeSyntax: true,
      customScalarTypes: { DateTime: 'string', JSON: 'unknown' },
    };
    await writeFile(join(folder.path, 'relay.config.json'), JSON.stringify(config));
    const compiled = await runTool(folder.path, 'relay-compiler');
    expect(compiled.status, compiled.stdout + compiled.stderr).toBe(0);
    const artifact = join(folder.path, 'src/__generated__/relayTrailQuery.graphql.ts');
    expect(await readFile(artifact, 'utf8')).toContain('readonly occurredAt: string | null');
    const { default: request } = await import(artifact);
    const { metadata, text } = request.params;
    expect(metadata.connection).toEqual([
      { count: 'first', cursor: 'after', direction: 'forward', path: ['audit'] },
    ]);
    const read = async (variables: object) => {
      const response = await keytrail.gateway.fetch('http://keytrail/graphql', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${keytrail.accessToken}`,
        },
        body: JSON.stringify({ query: text, variables }),
      });
      const { data, errors } = await response.json();
      expect(errors).toBeUndefined();
      return data.audit;
    };
    const first = await read({ first: 2 });
    const next = await read({ first: 2, after: first.pageInfo.endCursor });
    type Edge = { readonly cursor: string };
    const cursors = [...first.edges, ...next.edges].map(({ cursor }: Edge) => cursor);
    expect(new Set(cursors).size).toBe(4);
  });
});

describe('GraphQL Inspector', () => {
  it('reports no change of the schema against itself', async () => {
    await using folder = await createProject();
    const { status, stdout } = await runTool(
      folder.path,
      'graphql-inspector',
      ...['diff', 'schema.graphql', 'schema.graphql'],
    );
    expect([status, stdout]).toEqual([0, expect.stringContaining('No changes detected')]);
  });

  it('reports one breaking change of a schema without a field', async () => {
    await using folder = await createProject();
    const without = SCHEMA.replace(/ {2}""".*"""\n {2}ipAddress: String\n/, '');
    expect(without).not.toContain('ipAddress');
    await writeFile(join(folder.path, 'changed.graphql'), without);
    const { status, stdout, stderr } = await runTool(
      folder.path,
      'graphql-inspector',
      ...['diff', 'schema.graphql', 'changed.graphql'],
    );
    expect(status).toBe(1);
    expect(stdout + stderr).toMatch(/Field ipAddress .*was removed from object type AuditEvent/);
    expect(stdout + stderr).toContain('Detected 1 breaking change');
  });

  it('rejects the schema of the subgraph', async () => {
    await using folder = await createProject();
    await cp(SUBGRAPH, join(folder.path, 'subgraph.graphql'));
    const { status, stdout, stderr } = await runTool(
      folder.path,
      'graphql-inspector',
      ...['diff', 'subgraph.graphql', 'schema.graphql'],
    );
    expect(status).toBe(1);
    expect(stdout + stderr).toContain('Unknown directive "@link"');
  });

  it('validates documents', async () => {
    await using folder = await createProject();
    await writeFile(join(folder.path, 'wrong.graphql'), '{ audit { nodes { password } } }');
    const check = (file: string) =>
      runTool(folder.path, 'graphql-inspector', 'validate', file, 'schema.graphql');
    await cp(OPERATIONS, join(folder.path, 'operations.graphql'));
    expect((await check('operations.graphql')).stdout).toContain('All documents are valid');
    const { status, stdout } = await check('wrong.graphql');
    expect([status, stdout]).toEqual([1, expect.stringContaining('Cannot query field password')]);
  });
});

describe('graphql-config', () => {
  it.each(['schema.graphql', 'node_modules/keytrail-client/schema.graphql'])(
    'loads the schema, and finds a wrong document: %s',
    async (file) => {
      await using folder = await createProject();
      const packaged = join(folder.path, 'node_modules/keytrail-client');
      await mkdir(packaged, { recursive: true });
      await cp(PACKAGED, `${packaged}/schema.graphql`);
      await writeFile(
        join(folder.path, '.graphqlrc.json'),
        JSON.stringify({ schema: file, documents: 'src/**/*.graphql' }),
      );
      const config = await loadConfig({ rootDir: folder.path, throwOnMissing: true });
      const schema = await config?.getDefault().getSchema();
      if (schema === undefined) throw new Error('There is no schema.');
      const errorsOf = (text: string) =>
        validate(schema, parse(text)).map(({ message }) => message);
      expect(errorsOf(await readFile(OPERATIONS, 'utf8'))).toEqual([]);
      expect(errorsOf('{ audit { password } }')).toEqual([
        'Cannot query field "password" on type "AuditEventConnection".',
      ]);
    },
  );
});
