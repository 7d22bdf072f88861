import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { buildSchema, Kind, OperationTypeNode, parse, validate } from 'graphql';
import { describe, expect, it } from 'vitest';
import { parse as parseYaml } from 'yaml';
import { createTestbed, type Testbed } from '../../src/testing/testbed.ts';
import { createFolder, printClientSchema } from './run-tool.ts';

const EXAMPLE = new URL('../../examples/mcp/', import.meta.url);
const read = (file: string) => readFile(new URL(file, EXAMPLE), 'utf8');
const SCHEMA = await printClientSchema();
const OPERATIONS = await readdir(new URL('operations/', EXAMPLE));

const VARIABLES: Readonly<Record<string, object>> = {
  'audit-trail.graphql': { first: 2, filter: { actions: ['key.rotate'] } },
  'failed-actions.graphql': { since: '2020-01-01T00:00:00Z' },
  'key-history.graphql': { key: 'demo-reports' },
  'raw-records.graphql': {},
};

describe('each file of examples/mcp/operations', () => {
  it('is listed here', () => expect(OPERATIONS.toSorted()).toEqual(Object.keys(VARIABLES)));

  it.each(OPERATIONS)('is one query with a description, and fits the schema: %s', async (file) => {
    const text = await read(`operations/${file}`);
    const schema = buildSchema(SCHEMA);
    const document = parse(text);
    const [operation, ...others] = document.definitions;
    expect(text).toMatch(/^# [A-Z].*\.\n/); // Apollo MCP Server makes it the description of the tool
    expect(others).toEqual([]);
    expect(operation).toMatchObject({
      kind: Kind.OPERATION_DEFINITION,
      operation: OperationTypeNode.QUERY,
      name: { value: expect.any(String) },
    });
    expect(validate(schema, document)).toEqual([]);
  });

  it.each(OPERATIONS)('reads events with the token of the user: %s', async (file) => {
    await using keytrail = await createTestbed({ gateway: { introspection: false } });
    const response = await fetch(keytrail.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${keytrail.accessToken}`,
      },
      body: JSON.stringify({
        query: await read(`operations/${file}`),
        variables: VARIABLES[file],
      }),
    });
    const { data, errors } = await response.json();
    expect(errors).toBeUndefined();
    expect(data.audit.nodes.length).toBeGreaterThan(0);
    if (file === 'failed-actions.graphql')
      for (const { outcome } of data.audit.nodes) expect(outcome).toBe('FAILURE');
    if (file === 'key-history.graphql')
      for (const { target } of data.audit.nodes) expect(target.identifier).toBe('demo-reports');
  });
});

describe('examples/mcp/apollo-mcp-server.yaml', () => {
  it('offers the operation files only, forwards the token, and names files that exist', async () => {
    const settings = parseYaml(await read('apollo-mcp-server.yaml'));
    expect(settings).toEqual({
      endpoint: 'http://127.0.0.1:4000/graphql',
      transport: { type: 'streamable_http', address: '127.0.0.1', port: 8000 },
      forward_headers: ['authorization'],
      schema: { source: 'local', path: 'schema.graphql' },
      custom_scalars: 'custom-scalars.json',
      operations: { source: 'local', paths: ['operations'] },
      overrides: { mutation_mode: 'none' },
      introspection: Object.fromEntries(
        ['execute', 'introspect', 'search', 'validate'].map((tool) => [tool, { enabled: false }]),
      ),
    });
    const scalars = JSON.parse(await read('custom-scalars.json'));
    expect(Object.keys(scalars)).toEqual(['DateTime']);
  });
});

/** Starts mcp-graphql as an assistant does that read examples/mcp/mcp-graphql.json. */
async function startMcpGraphql({ url, accessToken }: Testbed, folder: string) {
  const schema = join(folder, 'schema.graphql');
  await writeFile(schema, SCHEMA);
  const { command, args, env } = JSON.parse(await read('mcp-graphql.json')).mcpServers.keytrail;
  const load = createRequire(import.meta.url);
  const { version, bin } = load('mcp-graphql/package.json');
  expect([command, ...args]).toEqual(['npx', '--yes', `mcp-graphql@${version}`]);
  const filled = {
    ...env,
    ENDPOINT: url,
    SCHEMA: env.SCHEMA.replace('/path/to/schema.graphql', schema),
    HEADERS: env.HEADERS.replace('ACCESS_TOKEN', accessToken),
  };
  const script = join(dirname(load.resolve('mcp-graphql/package.json')), bin['mcp-graphql']);
  const client = new Client({ name: 'keytrail-test', version: '1.0.0' });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [script],
      env: filled,
      stderr: 'ignore',
    }),
  );
  const call = async (name: string, input: Record<string, unknown>) => {
    const { isError = false, content } = await client.callTool({ name, arguments: input });
    return { isError, text: JSON.stringify(content) };
  };
  return { client, call, [Symbol.asyncDispose]: () => client.close() };
}

describe('mcp-graphql with examples/mcp/mcp-graphql.json', () => {
  it('reads the trail with the token of the user, without introspection of the gateway', async () => {
    await using keytrail = await createTestbed({ gateway: { introspection: false } });
    await using folder = await createFolder();
    await using mcp = await startMcpGraphql(keytrail, folder.path);
    const { tools } = await mcp.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['introspect-schema', 'query-graphql']);
    expect((await mcp.call('introspect-schema', {})).text).toContain('type AuditEvent {');
    const query = '{ audit(first: 3) { nodes { action } } }';
    const { isError, text } = await mcp.call('query-graphql', { query });
    expect(isError).toBe(false);
    expect(text.match(/\\"action\\"/g)).toHaveLength(3);
    expect(keytrail.requests).toHaveLength(1);
    expect(keytrail.requests[0]?.headers.authorization).toBe(`Bearer ${keytrail.accessToken}`);
  });

  it.each([
    'mutation { deleteApiKey(clientId: "demo-old-ci") { outcome } }',
    'mutation { login(clientId: "demo-admin", credential: { clientSecret: "s" }) { accessToken } }',
    'query A { __typename } mutation B { deleteApiKey(clientId: "demo-old-ci") { outcome } }',
  ])('sends no mutation: %s', async (query) => {
    await using keytrail = await createTestbed();
    await using folder = await createFolder();
    await using mcp = await startMcpGraphql(keytrail, folder.path);
    const { isError, text } = await mcp.call('query-graphql', { query });
    expect(isError).toBe(true);
    expect(text).toContain('Mutations are not allowed');
    expect(keytrail.requests).toEqual([]);
  });

  it('sends variables as a string, which Keytrail rejects', async () => {
    await using keytrail = await createTestbed();
    await using folder = await createFolder();
    await using mcp = await startMcpGraphql(keytrail, folder.path);
    const query = 'query ($first: Int) { audit(first: $first) { totalCount } }';
    const { isError, text } = await mcp.call('query-graphql', { query, variables: '{"first":1}' });
    expect(isError).toBe(true);
    expect(text).toContain('BAD_REQUEST');
    expect(keytrail.requests).toEqual([]);
  });

  it('forwards the code of an error', async () => {
    await using keytrail = await createTestbed();
    await using folder = await createFolder();
    await using mcp = await startMcpGraphql(keytrail, folder.path);
    keytrail.respondNext({ status: 401 });
    const query = '{ audit { totalCount } }';
    const { isError, text } = await mcp.call('query-graphql', { query });
    expect(isError).toBe(true);
    expect(text).toContain('UNAUTHENTICATED');
  });
});
