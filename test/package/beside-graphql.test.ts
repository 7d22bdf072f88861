import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AuditDocument, AuditEventsDocument, createSession } from '../../src/client/index.ts';
import { DEMO_CLIENTS } from '../../src/testing/sandbox/seed.ts';
import { outsideEnvironment, packClone } from '../helpers/clone.ts';
import { startInstalled } from '../helpers/process.ts';

const exec = promisify(execFile);
const BIN = fileURLToPath(new URL('node_modules/.bin/', import.meta.url));

/** npm and Bun give a peer dependency the version of the project; pnpm and Yarn that of the package that has it. */
const MANAGERS = ['npm', 'bun', 'pnpm', 'yarn'] as const;

/** The newest, and one that is older than that of Keytrail. */
const VERSIONS = ['17.1.0', '16.11.0'];

const SETTINGS = {
  YARN_ENABLE_IMMUTABLE_INSTALLS: 'false', // its default in CI
  YARN_ENABLE_TELEMETRY: 'false',
};

/** Yarn installs no node_modules: Node reads the packages from their archives. */
const PNP = { NODE_OPTIONS: '--require ./.pnp.cjs --experimental-loader ./.pnp.loader.mjs' };

/** Prints which of the package's parts respond. */
const PROGRAM = `
import { version } from 'graphql';
import { createGateway } from 'keytrail';
import { AuditDocument, request } from 'keytrail/client';
import { createTestbed } from 'keytrail/testing';

await using testbed = await createTestbed();
const { url, accessToken: token } = testbed;
const { data } = await request(AuditDocument, { first: 1 }, { url, token });
const events = testbed.follow();
await events.next();
testbed.addEvents([{ action: 'added' }]);
const { value } = await events.next();
await events.return();
await using gateway = createGateway({ upstream: { url: 'http://127.0.0.1:9' }, playground: true });
const headers = { 'content-type': 'application/json' };
const body = '{"query": "{ _service { sdl } }"}';
const service = await gateway.fetch('http://gateway.test/graphql', { method: 'POST', headers, body });
const { sdl } = (await service.json()).data._service;
const page = await gateway.fetch('http://gateway.test/graphql', { headers: { accept: 'text/html' } });
console.log(JSON.stringify({
  version,
  client: data.audit.nodes.length,
  stream: value.nodes[0].action,
  gateway: /^type \\w+/m.exec(sdl)?.[0],
  playground: /<title>.*<.title>/.exec(await page.text())?.[0],
}));`;

describe('the package', () => {
  let parent: string;
  let tarball: string;

  beforeAll(async () => {
    parent = await mkdtemp(join(tmpdir(), 'keytrail-beside-'));
    tarball = await packClone(parent);
  }, 600_000);

  afterAll(() => rmSync(parent, { recursive: true }));

  describe.each(
    MANAGERS.flatMap((manager) => VERSIONS.map((version) => [manager, version] as const)),
  )('installed by %s beside graphql %s', (manager, version) => {
    let folder: string;
    const environment = manager === 'yarn' ? PNP : {};

    async function run(command: string, ...args: readonly string[]): Promise<string> {
      const env = { ...outsideEnvironment(), ...SETTINGS };
      return (await exec(command, args, { cwd: folder, env })).stdout;
    }
    const install = manager === 'npm' ? 'npm' : join(BIN, manager);

    beforeAll(async () => {
      folder = join(parent, `${manager}-${version}`);
      await mkdir(folder);
      const dependencies = { graphql: version, keytrail: `file:${tarball}` };
      await writeFile(
        join(folder, 'package.json'),
        JSON.stringify({ type: 'module', dependencies }),
      );
      await run(install, 'install');
    }, 600_000);

    it('responds in a program, in the testbed and as the playground', async () => {
      await writeFile(join(folder, 'program.js'), PROGRAM);
      await using program = startInstalled(folder, process.execPath, environment, ['program.js']);
      const status = await program.status;
      expect(status, program.output.stderr).toBe(0);
      expect(JSON.parse(program.output.stdout)).toEqual({
        version,
        client: 1,
        stream: 'added',
        gateway: 'type ApiKey',
        playground: '<title>Keytrail</title>',
      });
    });

    it('responds as a command', async () => {
      const settings = { PORT: '0', ...environment };
      await using keytrail =
        manager === 'yarn'
          ? startInstalled(folder, process.execPath, settings, [
              (await run(install, 'bin', 'keytrail')).trim(),
            ])
          : startInstalled(folder, 'node_modules/.bin/keytrail', settings);
      const [url = ''] = await keytrail.until(/http:\/\/127\.0\.0\.1:\d+\/graphql/);
      expect((await fetch(new URL('/health/ready', url))).status).toBe(200);
      const [{ clientId, secret: clientSecret }] = DEMO_CLIENTS;
      const session = createSession({ clientId, clientSecret, url });
      const { data } = await session.request(AuditDocument, { first: 1 });
      expect(data?.audit?.nodes).toHaveLength(1);
      for await (const { missed } of session.follow(AuditEventsDocument, {})) {
        expect(missed).toBe(false);
        break;
      }
    });
  });
});
