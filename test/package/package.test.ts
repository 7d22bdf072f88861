import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { cp, mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEMO_CLIENTS } from '../../src/testing/sandbox/seed.ts';
import { createTestbed } from '../../src/testing/testbed.ts';
import { readBlocks } from '../docs/markdown.ts';
import { outsideEnvironment, packClone } from '../helpers/clone.ts';
import { OLDER_NODE, OLDEST_NODE } from '../helpers/older-node.ts';
import { startInstalled } from '../helpers/process.ts';
import { startService } from '../helpers/service.ts';

const exec = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BIN = join(ROOT, 'node_modules/.bin');
/** Of the package without GraphiQL, and of GraphiQL, which only the playground reads. */
const MAX_BYTES = { own: 2_050_000, graphiql: 9_000_000 };

async function run(cwd: string, command: string, ...args: readonly string[]) {
  return exec(command, args, { cwd, env: outsideEnvironment() });
}

/** The bytes of all files in a folder. */
async function sizeOf(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = files.map(async (file) =>
    file.isFile() ? (await stat(join(file.parentPath, file.name))).size : 0,
  );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** The program and the test in the README. */
const EXAMPLES = ['library.ts', 'testing.test.ts'];

/** A TypeScript program that uses every export. */
const CONSUMER = `
import { createServer } from 'node:http';
import { ConfigError, createGateway, createSandbox, type ErrorCode, type FailureExtensions, type Gateway } from 'keytrail';
import { AuditDocument, AuditEventsDocument, type AuditQuery, createSession, type LoginCredential, LoginDocument, request, type Result, type TokenStore, wasRefused } from 'keytrail/client';
import { fileTokens } from 'keytrail/client/file';
import { createTestbed, type ScriptedResponse } from 'keytrail/testing';

const code: ErrorCode = 'OUTCOME_UNKNOWN';
export const idOf = ({ requestId }: FailureExtensions): string | undefined => requestId;
// @ts-expect-error: no such code
const wrong: ErrorCode = 'NOPE';
// @ts-expect-error: one of the two
const both: LoginCredential = { clientSecret: 's', refreshToken: 'r' };
const response: ScriptedResponse = { status: 429, headers: { 'retry-after': '7' } };
export async function use(): Promise<void> {
  await using sandbox = await createSandbox();
  await using gateway: Gateway = createGateway({ upstream: { url: sandbox.url }, log: console });
  createServer(gateway.handle);
  const audit: Result<AuditQuery> = await request(AuditDocument, { first: 1 }, { fetch: gateway.fetch, token: 't' });
  const action: string | null | undefined = audit.data?.audit?.nodes[0]?.action;
  const login = await request(LoginDocument, { clientId: 'c', credential: { clientSecret: 's' } });
  const isRefused: boolean = wasRefused(login);
  // @ts-expect-error: a login needs a credential
  await request(LoginDocument, { clientId: 'c' });
  const tokens: TokenStore = fileTokens('tokens.json', { onWarning: console.warn });
  const session = createSession({ clientId: 'c', clientSecret: 's', tokens, fetch: gateway.fetch });
  for await (const { nodes } of session.follow(AuditEventsDocument, { every: 5 })) console.log(nodes[0]?.action);
  // @ts-expect-error: a variable of its own
  session.follow(AuditEventsDocument, { after: 'c' });
  // @ts-expect-error: not a subscription
  session.follow(AuditDocument, {});
  // @ts-expect-error: no such option
  createGateway({ upstream: { url: '' }, port: 1 });
  await using testbed = await createTestbed();
  testbed.respondNext(response);
  console.log(code, wrong, both, action, isRefused, ConfigError, testbed.requests[0]?.path);
}
`;

describe('the package', () => {
  let tarball: string;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keytrail-package-'));
    tarball = await packClone(folder);
    await writeFile(join(folder, 'package.json'), '{"type": "module"}');
    await run(folder, 'npm', 'install', '--no-audit', '--no-fund', tarball);
  }, 600_000);

  afterAll(() => rmSync(folder, { recursive: true }));

  it('takes less than 2.05 MB when installed, and 9 MB for GraphiQL', async () => {
    const dist = join(folder, 'node_modules/keytrail/dist');
    const graphiql = (await readdir(dist)).filter((file) => /^graphiql-.*\.js$/.test(file));
    expect(graphiql).toHaveLength(1);
    const { size } = await stat(join(dist, `${graphiql}`));
    expect(size).toBeLessThan(MAX_BYTES.graphiql);
    const total = await sizeOf(join(folder, 'node_modules/keytrail'));
    expect(total - size).toBeGreaterThan(100_000);
    expect(total - size).toBeLessThan(MAX_BYTES.own);
  });

  it('installs no graphql and nothing that needs one: it has its own copy', async () => {
    const installed = await readdir(join(folder, 'node_modules'), { recursive: true });
    expect(
      installed.filter((path) => /(?:graphql|yoga|pothos).*\/package\.json$/.test(path)),
    ).toEqual([]);
    const licenses = await readFile(join(folder, 'node_modules/keytrail/dist/LICENSES'), 'utf8');
    const named = [...licenses.matchAll(/^.*:$(?=\n\n)/gm)].join();
    const copied = ['graphql', 'graphql-yoga', '@pothos/core', '@graphql-tools/utils', 'tslib'];
    for (const name of [...copied, '@opentelemetry/core', 'jsonc-parser'])
      expect(named.split(/[,:] ?/)).toContain(name);
  });

  it('has the manifest of the clone, without what is for the clone', async () => {
    const installed = join(folder, 'node_modules/keytrail');
    const [own, root] = await Promise.all(
      [installed, ROOT].map(async (place) =>
        JSON.parse(
          (await readFile(join(place, 'package.json'), 'utf8')).replaceAll('dist/keytrail/', ''),
        ),
      ),
    );
    const left = Object.keys(root).filter((name) => !(name in own));
    expect(left).toEqual([
      ...['private', 'devEngines', 'allowScripts', 'scripts'],
      ...['optionalDependencies', 'devDependencies'],
    ]);
    expect(root).toMatchObject(own);
    for (const path of JSON.stringify([own.bin, own.exports]).match(/dist\/[^"]+/g) ?? [])
      expect((await stat(join(installed, path))).isFile(), path).toBe(true);
    expect(await readFile(join(installed, 'README.md'), 'utf8')).toBe(
      await readFile(join(ROOT, 'README.md'), 'utf8'),
    );
  });

  it('installs no types of Node: the peer dependency is optional', async () => {
    expect(await readdir(join(folder, 'node_modules'))).not.toContain('@types');
  });

  it('has a source map for every script, with the sources in src', async () => {
    const dist = join(folder, 'node_modules/keytrail/dist');
    const scripts = (await readdir(dist)).filter((file) => file.endsWith('.js'));
    expect(scripts).toContain('index.js');
    const sources = await Promise.all(
      scripts.map(async (script) => {
        const text = await readFile(join(dist, script), 'utf8');
        const [, map] = /\/\/# sourceMappingURL=(.*)/.exec(text) ?? [];
        return map === undefined ? [] : JSON.parse(await readFile(join(dist, map), 'utf8')).sources;
      }),
    );
    expect(sources.flat()).toContain('../src/gateway/upstream/http-client.ts');
  });

  it('has every declaration that its declarations import', async () => {
    const types = join(folder, 'node_modules/keytrail/dist/types');
    const files = (await readdir(types, { recursive: true })).filter((file) =>
      /\.d\.ts$/.test(file),
    );
    expect(files).toContain('index.d.ts');
    const missing = await Promise.all(
      files.map(async (file) => {
        const text = await readFile(join(types, file), 'utf8');
        const paths = text.matchAll(/(?:from|import\() ?'(\.[^']+?)(?:\.d)?\.[jt]s'/g);
        const imported = [...paths].map(([, path = '']) => `${join(dirname(file), path)}.d.ts`);
        return imported.filter((one) => !files.includes(one));
      }),
    );
    expect(missing.flat()).toEqual([]);
  });

  it('maps stack traces to the source', async () => {
    const program = "import { createGateway } from 'keytrail'; createGateway({});";
    await writeFile(join(folder, 'throws.js'), program);
    const failing = run(folder, 'node', '--enable-source-maps', 'throws.js');
    await expect(failing).rejects.toThrow(/src\/gateway\/api\/create-gateway\.ts:\d+/);
  });

  it.each(['keytrail', 'keytrail/client', 'keytrail/client/file', 'keytrail/testing'])(
    'imports %s without output',
    async (name) => {
      const { stdout, stderr } = await run(folder, 'node', '--eval', `await import('${name}')`);
      expect([stdout, stderr]).toEqual(['', '']);
    },
  );

  it('has the JSON Schema of the contract', async () => {
    const program = `
      import schema from 'keytrail/contract.schema.json' with { type: 'json' };
      console.log(JSON.stringify(schema.properties.audit.properties.event.properties.id));
    `;
    const { stdout } = await run(folder, 'node', '--eval', program);
    expect(JSON.parse(stdout).description).toBe("Where the service's ID of the record is.");
  });

  it('has the schema for clients, as the command prints it', async () => {
    const program = `
      import { readFile } from 'node:fs/promises';
      const file = new URL(import.meta.resolve('keytrail/schema.graphql'));
      process.stdout.write(await readFile(file, 'utf8'));
    `;
    const { stdout } = await run(folder, 'node', '--input-type', 'module', '--eval', program);
    expect(stdout).toContain('type ApiKey {');
    expect((await run(folder, 'npx', 'keytrail', 'schema', '--client')).stdout).toBe(stdout);
  });

  // Skipped without an older Node on the PATH.
  it.skipIf(OLDER_NODE === undefined)(
    'names the Node it needs on an older one, where keytrail/client works',
    async () => {
      const [older, installed] = [OLDER_NODE ?? '', 'node_modules/.bin/keytrail'];
      await using keytrail = startInstalled(folder, installed, { PORT: '0' });
      const [url = ''] = await keytrail.until(/http:\/\/127\.0\.0\.1:\d+\/graphql/);
      const program = `
        import { createGateway, createSandbox } from 'keytrail';
        import { LoginDocument, request } from 'keytrail/client';
        import { createTestbed } from 'keytrail/testing';

        for (const create of [createGateway, createSandbox, createTestbed]) {
          try {
            await create({});
          } catch (error) {
            console.log(String(error));
          }
        }
        const credential = { clientSecret: ${JSON.stringify(DEMO_CLIENTS[0].secret)} };
        const variables = { clientId: ${JSON.stringify(DEMO_CLIENTS[0].clientId)}, credential };
        const { data } = await request(LoginDocument, variables, { url: ${JSON.stringify(url)} });
        console.log(typeof data.login.accessToken);`;
      await writeFile(join(folder, 'older.js'), program);
      const { stdout: version } = await run(folder, older, '--version');
      const is = `and this is ${version.trim()}.\n`;
      const { stdout, stderr } = await run(folder, older, 'older.js');
      const sentence = `Error: keytrail needs Node 22.19 or later, ${is}`;
      expect(stdout).toBe(`${sentence.repeat(3)}string\n`);
      expect(stderr).toBe('');
      await expect(run(folder, older, installed, '--version')).rejects.toMatchObject({
        ...{ code: 1, stdout: '', stderr: `keytrail needs Node 24.16, 26 or later, ${is}` },
      });
    },
  );

  it('works on Node 22.19 in a program and in a test; handle and the command say what they need', async () => {
    const program = `
      import { createGateway, createSandbox } from 'keytrail';
      import { AuditDocument, AuditEventsDocument, LoginDocument, request } from 'keytrail/client';
      import { createTestbed } from 'keytrail/testing';

      const sandbox = await createSandbox();
      const gateway = createGateway({ upstream: { url: sandbox.url } });
      const variables = { clientId: sandbox.clients[0].clientId, credential: { clientSecret: sandbox.clients[0].secret } };
      const login = await request(LoginDocument, variables, { fetch: gateway.fetch });
      console.log(typeof login.data.login.accessToken);
      try {
        gateway.handle;
      } catch (error) {
        console.log(String(error));
      }
      await gateway[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();

      const testbed = await createTestbed();
      const { url, accessToken: token } = testbed;
      const audit = await request(AuditDocument, { first: 1 }, { url, token });
      console.log(audit.data.audit.nodes.length);
      const events = testbed.follow();
      await events.next();
      testbed.addEvents([{ action: 'added' }]);
      console.log((await events.next()).value.nodes[0].action);
      await testbed[Symbol.asyncDispose]();`;
    await writeFile(join(folder, 'oldest.js'), program);
    const needs = 'needs Node 24.16, 26 or later, and this is v22.19.0.';
    const { stdout, stderr } = await run(folder, OLDEST_NODE, 'oldest.js');
    expect(stdout.split('\n')).toEqual([
      'string',
      `Error: The gateway's handle ${needs} Its fetch works on this one.`,
      ...['1', 'added', ''],
    ]);
    expect(stderr).toBe('');
    const command = run(folder, OLDEST_NODE, 'node_modules/.bin/keytrail', '--version');
    await expect(command).rejects.toMatchObject({ code: 1, stderr: `keytrail ${needs}\n` });
  });

  it('has a command', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    const keytrail = async (argument: string) =>
      (await run(folder, 'npx', 'keytrail', argument)).stdout;
    expect(await keytrail('--version')).toBe(`${version}\n`);
    expect(await keytrail('--help')).toContain('Usage: keytrail [command] [options]');
    expect(await keytrail('schema')).toBe(await readFile(join(ROOT, 'schema.graphql'), 'utf8'));
  });

  it('names its version to the service', async () => {
    const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'));
    await using service = await startService({ body: [{ id: '1', action: 'x' }] });
    const settings = { UPSTREAM_URL: service.url, KEYTRAIL_TOKEN: 't' };
    await using keytrail = startInstalled(folder, 'node_modules/.bin/keytrail', settings, [
      'learn',
    ]);
    await keytrail.status;
    expect(service.seen[0]?.headers['user-agent']).toBe(`keytrail/${version}`);
  });

  it('runs the examples of the README unchanged', async () => {
    for (const example of EXAMPLES)
      await cp(join(ROOT, 'examples', example), join(folder, example));
    const library = await run(folder, 'node', 'library.ts');
    expect(library.stdout).toBe('200 UNAUTHENTICATED\n200\n');
    const { stdout } = await run(folder, 'node', '--test', 'testing.test.ts');
    expect(stdout).toMatch(/pass 3\n.*fail 0\n/);
  });

  it('keeps its schema in a bundle that drops modules without side effects', async () => {
    const program = `import { createGateway } from 'keytrail';
      await using gateway = createGateway({ upstream: { url: 'http://127.0.0.1:9' } });
      const query = '{ _service { sdl } }';
      const headers = { 'content-type': 'application/json' };
      const init = { method: 'POST', headers, body: JSON.stringify({ query }) };
      const response = await gateway.fetch('http://gateway.test/graphql', init);
      console.log((await response.json()).data._service.sdl);`;
    await writeFile(join(folder, 'bundled.js'), program);
    const options = ['--platform', 'node', '--format', 'esm', '--dir', 'bundle'];
    await run(folder, join(BIN, 'rolldown'), 'bundled.js', ...options);
    const { stdout } = await run(folder, 'node', 'bundle/bundled.js');
    expect(stdout).toContain(await readFile(join(ROOT, 'schema.graphql'), 'utf8'));
  });

  it('says which package to install if OTEL_EXPORTER_OTLP_ENDPOINT is set without the SDK', async () => {
    const variables = { PORT: '0', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' };
    await using keytrail = startInstalled(folder, 'node_modules/.bin/keytrail', variables);
    await keytrail.until(/Forwards to/);
    expect(keytrail.output.stderr).toContain('npm install @opentelemetry/sdk-node\n');
  });

  describe.each([
    ['1.9', '0.223.0', '0.33.0'],
    ['1.10', '0.301.0', '0.34.0'],
  ])('with an SDK of API %s', (_, version, instrumentation) => {
    beforeAll(async () => {
      const packages = ['sdk-node', 'instrumentation-undici'].map(
        (name) => `@opentelemetry/${name}`,
      );
      const versions = [version, instrumentation];
      const exact = packages.map((name, index) => `${name}@${versions[index]}`);
      await run(folder, 'npm', 'uninstall', '--no-audit', '--no-fund', ...packages);
      await run(folder, 'npm', 'install', '--no-audit', '--no-fund', ...exact);
    }, 600_000);

    /** Sends a deletion to the installed command, and stops it. Returns what the collector received. */
    async function deleteTraced(variables: Readonly<Record<string, string>>) {
      await using service = await startService({});
      await using collector = await startService({ body: {} });
      await using keytrail = startInstalled(folder, 'node_modules/.bin/keytrail', {
        PORT: '0',
        UPSTREAM_URL: service.url,
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        ...variables,
      });
      const [url = ''] = await keytrail.until(/http:\/\/127\.0\.0\.1:\d+\/graphql/);
      const query = 'mutation { deleteApiKey(clientId: "c4n4ry") { outcome } }';
      const headers = { 'content-type': 'application/json', authorization: 'Bearer c4n4ry' };
      await fetch(url, { method: 'POST', headers, body: JSON.stringify({ query }) });
      keytrail.child.kill('SIGTERM');
      expect(await keytrail.status).toBe(0);
      const sent = collector.seen.map(({ body }) => body).join();
      expect(sent).toContain('"name":"mutation deleteApiKey"');
      expect(sent).toContain('"name":"DELETE /api/v1/secrets/{client_id}"');
      expect(sent).not.toContain('c4n4ry');
      const names = service.seen[0]?.rawHeaders.filter((__, index) => index % 2 === 0);
      expect(names?.filter((name) => name === 'traceparent')).toEqual(['traceparent']);
      return sent;
    }

    it('sends spans to OTEL_EXPORTER_OTLP_ENDPOINT alone, and no command line', async () => {
      const sent = await deleteTraced({});
      expect(sent).toContain('{"key":"service.name","value":{"stringValue":"keytrail"}}');
      expect(sent).not.toContain('process.command');
    });

    it.each([
      ['as docs/observability sets it up', ''],
      ['with an instrumentation of undici', 'instrumentations: [new UndiciInstrumentation()]'],
    ])('sends spans and one traceparent with an SDK of --import: %s', async (__, options) => {
      const program = await readFile(join(ROOT, 'examples/tracing.js'), 'utf8');
      const imported =
        "import { UndiciInstrumentation } from '@opentelemetry/instrumentation-undici';\n";
      const file = imported + program.replace('new NodeSDK()', `new NodeSDK({ ${options} })`);
      await writeFile(join(folder, 'tracing.js'), file);
      await deleteTraced({
        NODE_OPTIONS: '--import ./tracing.js',
        OTEL_METRICS_EXPORTER: 'none',
        OTEL_LOGS_EXPORTER: 'none',
      });
    });
  });

  it.each<[module: string, moduleResolution: string, node: string, lib?: readonly string[]]>([
    ['nodenext', 'nodenext', '22', ['es2022']],
    ['esnext', 'bundler', '24'],
  ])(
    'passes strict type checks with module %s, moduleResolution %s, Node %s',
    async (...options) => {
      const [module, moduleResolution, node, lib] = options;
      await run(folder, 'npm', 'install', '--no-audit', '--no-fund', `@types/node@${node}`);
      await writeFile(join(folder, 'consumer.ts'), CONSUMER);
      for (const example of EXAMPLES)
        await cp(join(ROOT, 'examples', example), join(folder, example));
      const compilerOptions = {
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        noEmit: true,
        target: 'es2024',
        module,
        moduleResolution,
        ...(lib && { lib }),
      };
      const config = { compilerOptions, files: ['consumer.ts', ...EXAMPLES] };
      await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
      await run(folder, join(BIN, 'tsc'), '-p', folder).catch(({ stdout }) => {
        throw new Error(stdout);
      });
    },
  );

  it('passes publint and are-the-types-wrong', async () => {
    const publint = await run(ROOT, join(BIN, 'publint'), '--strict', tarball);
    expect(publint.stdout).toContain('All good!');
    // .attw.json selects ES modules only: Node 24 can require them, and Node 10 cannot run Keytrail. It excludes
    // schema.graphql, which is not a module.
    // attw exits with 1 if it reports a problem, and then `run` rejects.
    const attw = await run(ROOT, join(BIN, 'attw'), tarball, '--format', 'json');
    const { analysis } = JSON.parse(attw.stdout);
    expect(Object.keys(analysis.entrypoints)).toEqual(
      expect.arrayContaining(['.', './client', './client/file', './testing']),
    );
  });
});

describe('the package keytrail-client', () => {
  let tarball: string;
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keytrail-client-'));
    const packed = ['--silent', '--pack-destination', folder, './dist/keytrail-client'];
    await run(ROOT, 'npm', 'pack', ...packed);
    const [name = ''] = await readdir(folder);
    tarball = join(folder, name);
    await writeFile(join(folder, 'package.json'), '{"type": "module"}');
    await run(folder, 'npm', 'install', '--no-audit', '--no-fund', tarball);
  }, 600_000);

  afterAll(() => rmSync(folder, { recursive: true }));

  /** Checks `consumer.ts` strictly, without the types of Node. */
  const checkTypes = async () => {
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      skipLibCheck: false,
      noEmit: true,
      target: 'es2024',
      lib: ['es2024', 'dom'],
      types: [],
      module: 'nodenext',
    };
    const config = { compilerOptions, files: ['consumer.ts'] };
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config));
    await run(folder, join(BIN, 'tsc'), '-p', folder).catch(({ stdout }) => {
      throw new Error(stdout);
    });
  };

  it('is the only one that is installed, has the version of keytrail, and takes less than 80 kB', async () => {
    const installed = join(folder, 'node_modules');
    const names = (await readdir(installed)).filter((name) => !name.startsWith('.'));
    expect(names).toEqual(['keytrail-client']);
    const versions = [join(installed, 'keytrail-client'), ROOT].map(
      async (place) => JSON.parse(await readFile(join(place, 'package.json'), 'utf8')).version,
    );
    const [own, gateway] = await Promise.all(versions);
    expect(own).toBe(gateway);
    expect(await sizeOf(join(installed, 'keytrail-client'))).toBeLessThan(80_000);
  });

  it('has the license of what is copied from a package', async () => {
    const license = 'LICENSE.eventsource-parser';
    const text = await readFile(join(folder, 'node_modules/keytrail-client', license), 'utf8');
    expect(text).toMatch(/^MIT License\n\nCopyright/);
  });

  it('has the exports of keytrail/client, and the schema for clients', async () => {
    const exportsOf = async (module: string) =>
      Object.keys(await import(module)).filter((name) => name !== 'default');
    const installed = join(folder, 'node_modules/keytrail-client');
    expect(await exportsOf(join(installed, 'index.js'))).toEqual(
      await exportsOf(join(ROOT, 'dist/keytrail/dist/client.js')),
    );
    expect(await exportsOf(join(installed, 'file.js'))).toEqual(['fileTokens']);
    expect(await readFile(join(installed, 'schema.graphql'), 'utf8')).toBe(
      await readFile(join(ROOT, 'dist/keytrail/dist/schema.graphql'), 'utf8'),
    );
  });

  it.each([
    ['this Node', process.execPath],
    ['Node 22.19', OLDEST_NODE],
    ...(OLDER_NODE ? [['an older Node', OLDER_NODE]] : []),
  ])(
    'logs in, reads and follows the trail on %s, alone and in a bundle for browsers',
    async (_, node = '') => {
      await using testbed = await createTestbed({ strictLogin: false });
      const [{ clientId, secret: clientSecret }] = DEMO_CLIENTS;
      const options = JSON.stringify({ url: testbed.url, clientId, clientSecret });
      const program = `
        import { AuditDocument, AuditEventsDocument, createSession } from 'keytrail-client';
        const session = createSession(${options});
        console.log((await session.request(AuditDocument, { first: 1 })).data.audit.nodes.length);
        for await (const { missed } of session.follow(AuditEventsDocument, {})) {
          console.log(missed);
          break;
        }`;
      await writeFile(join(folder, 'program.js'), program);
      expect((await run(folder, node, 'program.js')).stdout).toBe('1\nfalse\n');
      const bundle = ['--platform', 'browser', '--format', 'esm', '--dir', 'bundle'];
      await run(folder, join(BIN, 'rolldown'), 'program.js', ...bundle);
      expect((await run(folder, node, 'bundle/program.js')).stdout).toBe('1\nfalse\n');
      expect(await readFile(join(folder, 'bundle/program.js'), 'utf8')).not.toMatch(/^import /m);
    },
  );

  it('has a README whose program runs, and passes strict type checks', async () => {
    await using testbed = await createTestbed({ strictLogin: false });
    const page = await readFile(join(folder, 'node_modules/keytrail-client/README.md'), 'utf8');
    const program = readBlocks(page).find(({ language }) => language === 'ts')?.text ?? '';
    const url = 'http://127.0.0.1:4000/graphql';
    expect(program).toContain(url);
    await writeFile(join(folder, 'consumer.ts'), program.replace(url, testbed.url));
    await checkTypes();
    await using running = startInstalled(folder, process.execPath, {}, ['consumer.ts']);
    await running.until(/client\.login SUCCESS\n(?:.*\n)*0 events {2}\S+/);
  });

  it('passes strict type checks without the types of Node, and publint and are-the-types-wrong', async () => {
    const program = `
      import { AuditDocument, type AuditQuery, createSession, request, type Result } from 'keytrail-client';
      import { fileTokens } from 'keytrail-client/file';
      export const session = createSession({ clientId: 'c', tokens: fileTokens('f'), fetch });
      export const audit: Promise<Result<AuditQuery>> = request(AuditDocument, { first: 1 }, { fetch });
      // @ts-expect-error: no such variable
      void request(AuditDocument, { last: 1 });`;
    await writeFile(join(folder, 'consumer.ts'), program);
    await checkTypes();
    const publint = await run(ROOT, join(BIN, 'publint'), '--strict', tarball);
    expect(publint.stdout).toContain('All good!');
    await run(ROOT, join(BIN, 'attw'), tarball, '--format', 'json');
  });
});
