import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { access, mkdir, mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Copy, DockerfileParser, type From } from 'dockerfile-ast';
import { validate } from 'dockerfile-utils';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { linkFolder } from '../helpers/clone.ts';
import { startService } from '../helpers/service.ts';

const exec = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TEXT = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');
const FILE = DockerfileParser.parse(TEXT);
const IGNORE = readFileSync(join(ROOT, 'deploy/Dockerfile.dockerignore'), 'utf8').split('\n');

type Locked = { readonly dev?: boolean; readonly optional?: boolean };

const lock: { readonly packages: Readonly<Record<string, Locked>> } = JSON.parse(
  readFileSync(join(ROOT, 'package-lock.json'), 'utf8'),
);

const canChangeUser = process.getuid?.() === 0 && spawnSync('setpriv', ['-V']).error === undefined;
if (!canChangeUser)
  process.stderr.write('Skipped: running the image, which needs root and setpriv.\n');

/** The arguments of the last instruction with a keyword. */
function last(keyword: string): readonly string[] {
  const found = FILE.getInstructions().findLast((each) => each.getKeyword() === keyword);
  return found?.getArguments().map((argument) => argument.getValue()) ?? [];
}

/** The arguments of an instruction in exec form (JSON). */
function execArguments(text: string): readonly string[] {
  return JSON.parse(text.slice(text.indexOf('[')));
}

/** Runs the Dockerfile with the Node of the tests, each stage in a folder. Returns the folder of the last stage. */
async function build(folder: string): Promise<string> {
  const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(?:npm_|NODE_ENV$)/.test(name),
  );
  const env = { ...Object.fromEntries(inherited), PATH };
  const stages = new Map<string, string>();
  let stage = '';
  let workdir = '';
  for (const instruction of FILE.getInstructions()) {
    const args = instruction.getArguments().map((argument) => argument.getValue());
    switch (instruction.getKeyword()) {
      case 'FROM': {
        const name = (instruction as From).getBuildStage() ?? 'final'; // the keyword decides the class
        stage = join(folder, name);
        stages.set(name, stage);
        break;
      }
      case 'WORKDIR':
        workdir = join(stage, args[0] ?? '');
        await mkdir(workdir, { recursive: true });
        break;
      case 'COPY': {
        const from = (instruction as Copy).getFromFlag()?.getValue(); // the keyword decides the class
        const to = args.at(-1) ?? '';
        for (const source of args.slice(0, -1)) {
          if (from == null) expect(IGNORE).toContain(`!${source}`);
          const base = from == null ? ROOT : (stages.get(from) ?? '');
          const target = to === './' ? join(workdir, basename(source)) : join(workdir, to);
          cpSync(join(base, source), target, { recursive: true, verbatimSymlinks: true });
        }
        break;
      }
      case 'RUN': {
        const command = instruction.getArgumentsContent() ?? '';
        // Takes half of the time, and gives what `npm ci` has installed here.
        if (/^npm ci (?!.*--omit)/.test(command))
          linkFolder(join(ROOT, 'node_modules'), join(workdir, 'node_modules'));
        else await exec('sh', ['-c', command], { cwd: workdir, env });
        break;
      }
    }
  }
  return stage;
}

describe('deploy/Dockerfile', () => {
  it('passes the linter', () => {
    expect(validate(TEXT)).toEqual([]);
  });

  it('uses the exact Node of .node-version', () => {
    const version = readFileSync(join(ROOT, '.node-version'), 'utf8').trim();
    expect(last('ARG')).toEqual([expect.stringContaining(`NODE=node:${version}-`)]);
    const bases = FILE.getFROMs().map((from) => from.getImage());
    expect(new Set(bases)).toEqual(new Set([`\${NODE}`]));
  });

  it('runs as a numeric user that is not root', () => {
    expect(last('USER')[0]).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  });

  it('runs Node as `npm start` does', () => {
    const options = execArguments(FILE.getENTRYPOINTs()[0]?.getTextContent() ?? '').slice(1, -1);
    const [name, value] =
      last('ENV')
        .find((each) => each.startsWith('MALLOC'))
        ?.split('=') ?? [];
    const start = readFileSync(join(ROOT, 'scripts/start.mjs'), 'utf8');
    expect([...start.matchAll(/'(--\S+)'/g)].map(([, option]) => option)).toEqual(options);
    expect(start).toContain(`const VARIABLES = { ${name}: '${value}' };\n`);
  });

  it('needs no shell for its entrypoint and health check', () => {
    for (const instruction of [...FILE.getENTRYPOINTs(), ...FILE.getHEALTHCHECKs()]) {
      expect(execArguments(instruction.getTextContent())[0]).toBe('node');
    }
  });
});

describe.skipIf(!canChangeUser)('the image of deploy/Dockerfile', () => {
  let folder: string;
  let image: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keytrail-image-'));
    await exec('chmod', ['755', folder]);
    image = await build(folder);
    await exec('chmod', ['-R', 'a-w', image]);
  }, 300_000);

  afterAll(() => rmSync(folder, { recursive: true }));

  it('contains the program and nothing else', async () => {
    const app = join(image, 'app');
    expect((await readdir(app)).toSorted()).toEqual([
      'LICENSE',
      'dist',
      'node_modules',
      'package.json',
    ]);
    // The lock file decides: prom-client needs @opentelemetry/api, which is a development dependency as well. The base image
    // has a Node.
    const packages = Object.entries(lock.packages);
    const unwanted = packages.flatMap(([path, { dev, optional }]) =>
      dev || optional ? [path] : [],
    );
    expect(unwanted.length).toBeGreaterThan(Object.keys(manifest.devDependencies).length);
    for (const path of unwanted) await expect(access(join(app, path))).rejects.toThrow('ENOENT');
  });

  it('serves without write permission, passes its health check, and exits on SIGTERM', async () => {
    const [user = '', group = ''] = last('USER')[0]?.split(':') ?? [];
    const [node, ...options] = execArguments(FILE.getENTRYPOINTs()[0]?.getTextContent() ?? '');
    const main = options.pop() ?? '';
    expect(node).toBe('node');
    const env = {
      ...Object.fromEntries(last('ENV').map((variable) => variable.split('='))),
      PORT: '0',
      UPSTREAM_URL: 'http://127.0.0.1:1',
    };
    const setpriv = '/usr/bin/setpriv';
    const child = spawn(
      setpriv,
      [
        '--reuid',
        user,
        '--regid',
        group,
        '--clear-groups',
        '--bounding-set=-all',
        '--no-new-privs',
        process.execPath,
        ...options,
        join(image, main),
      ],
      { env, cwd: '/' },
    );
    const exited = once(child, 'close');
    const started = await once(child.stdout, 'data');
    const [, port = ''] = /http:\/\/0\.0\.0\.0:(\d+)\/graphql/.exec(String(started)) ?? [];
    const check = execArguments(FILE.getHEALTHCHECKs()[0]?.getTextContent() ?? '').slice(1);
    await exec(process.execPath, check, { env: { PORT: port } });
    const response = await fetch(`http://127.0.0.1:${port}/graphql`, {
      method: 'POST',
      headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
      body: '{"query": "{ audit { totalCount } }"}',
    });
    expect(await response.json()).toMatchObject({
      errors: [{ extensions: { code: 'UPSTREAM_UNAVAILABLE' } }],
    });
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    await expect(exec(process.execPath, check, { env: { PORT: port } })).rejects.toThrow();
  });

  /** Starts the image with more Node options and variables, sends a query, and stops the process. */
  async function query(options: readonly string[], variables: Readonly<Record<string, string>>) {
    const child = spawn(process.execPath, [...options, join(image, 'app/dist/main.js')], {
      env: {
        NODE_ENV: 'production',
        PORT: '0',
        UPSTREAM_URL: 'http://127.0.0.1:1',
        ...variables,
      },
      cwd: ROOT,
    });
    const exited = once(child, 'close');
    let stdout = '';
    const started = Promise.withResolvers<string>();
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      stdout += chunk;
      const url = /http:\/\/[\w.:]+\/graphql/.exec(stdout)?.[0];
      if (url !== undefined) started.resolve(url);
    });
    void exited.then(() => started.reject(new Error(`It has exited: ${stdout}`)));
    const url = await started.promise;
    await fetch(url, {
      method: 'POST',
      headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
      body: '{"query": "{ audit { totalCount } }"}',
    });
    const page = await fetch(url, { headers: { accept: 'text/html' } });
    const title = /<title>.*<.title>/.exec(await page.text())?.[0];
    child.kill('SIGTERM');
    expect(await exited).toEqual([0, null]);
    return { stdout, title };
  }

  it('has the playground, off by default', async () => {
    expect((await query([], {})).title).toBe(undefined);
    expect((await query([], { PLAYGROUND: 'true' })).title).toBe('<title>Keytrail</title>');
  });

  it('is traced by an OpenTelemetry SDK that is loaded with --import', async () => {
    const sdk = join(ROOT, 'test/helpers/print-spans.ts');
    const { stdout } = await query(['--import', sdk], {});
    expect(stdout).toMatch(/CLIENT GET \/api\/v1\/audit /);
  });

  it('sends spans to OTEL_EXPORTER_OTLP_ENDPOINT', async () => {
    await using collector = await startService({});
    await query([], { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    expect(collector.seen.map(({ url }) => url)).toEqual(['/v1/traces']);
    expect(collector.seen[0]?.body).toContain('GET /api/v1/audit');
  });

  it('has the licenses of what is copied into its bundle from packages that it lacks', async () => {
    const licenses = await readFile(join(image, 'app/dist/LICENSES'), 'utf8');
    for (const name of ['graphql-yoga', '@opentelemetry/sdk-node', '@grpc/grpc-js', 'protobufjs'])
      expect(licenses).toMatch(new RegExp(`^(?:.*, )?${name}(?:, .*)?:$`, 'm'));
  });
});
