import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { access, cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Copy, DockerfileParser, type From } from 'dockerfile-ast';
import { validate } from 'dockerfile-utils';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const exec = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TEXT = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');
const FILE = DockerfileParser.parse(TEXT);
const IGNORE = readFileSync(join(ROOT, 'deploy/Dockerfile.dockerignore'), 'utf8').split('\n');

const canChangeUser = process.getuid?.() === 0 && spawnSync('setpriv', ['-V']).error === undefined;
if (!canChangeUser)
  process.stderr.write('Skipped: running the image, for want of root and setpriv.\n');

/** The words of the last instruction of that name. */
function last(keyword: string): readonly string[] {
  const found = FILE.getInstructions().findLast((one) => one.getKeyword() === keyword);
  return found?.getArguments().map((word) => word.getValue()) ?? [];
}

/** The words of an instruction in the form of JSON: no shell is needed. */
function wordsOf(text: string): readonly string[] {
  return JSON.parse(text.slice(text.indexOf('[')));
}

/** Does in a folder for each stage what the file says, with the Node of the tests, and gives the last folder. */
async function build(folder: string): Promise<string> {
  const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);
  const kept = Object.entries(process.env).filter(([name]) => !/^(?:npm_|NODE_ENV$)/.test(name));
  const env = { ...Object.fromEntries(kept), PATH };
  const stages = new Map<string, string>();
  let stage = '';
  let work = '';
  for (const instruction of FILE.getInstructions()) {
    const words = instruction.getArguments().map((word) => word.getValue());
    switch (instruction.getKeyword()) {
      case 'FROM': {
        const name = (instruction as From).getBuildStage() ?? 'final'; // by its keyword
        stage = join(folder, name);
        stages.set(name, stage);
        break;
      }
      case 'WORKDIR':
        work = join(stage, words[0] ?? '');
        await mkdir(work, { recursive: true });
        break;
      case 'COPY': {
        const from = (instruction as Copy).getFromFlag()?.getValue(); // by its keyword
        const to = words.at(-1) ?? '';
        for (const source of words.slice(0, -1)) {
          if (from == null) expect(IGNORE).toContain(`!${source}`);
          const base = from == null ? ROOT : (stages.get(from) ?? '');
          const target = to === './' ? join(work, basename(source)) : join(work, to);
          await cp(join(base, source), target, { recursive: true, verbatimSymlinks: true });
        }
        break;
      }
      case 'RUN':
        await exec('sh', ['-c', instruction.getArgumentsContent() ?? ''], { cwd: work, env });
        break;
    }
  }
  return stage;
}

describe('deploy/Dockerfile', () => {
  it('has no fault that a linter finds', () => {
    expect(validate(TEXT)).toEqual([]);
  });

  it('runs on the Node of the tests, by its exact version', () => {
    expect(last('ARG')).toEqual([
      expect.stringContaining(`NODE=node:${manifest.devDependencies.node}-`),
    ]);
    const bases = FILE.getFROMs().map((from) => from.getImage());
    expect(new Set(bases)).toEqual(new Set([`\${NODE}`]));
  });

  it('runs as a user that is a number and not root', () => {
    expect(last('USER')[0]).toMatch(/^[1-9]\d*:[1-9]\d*$/);
  });

  it('runs Node as `npm start` does', () => {
    const options = wordsOf(FILE.getENTRYPOINTs()[0]?.getTextContent() ?? '').slice(1, -1);
    const bound = last('ENV').find((word) => word.startsWith('MALLOC'));
    expect(manifest.scripts.start).toBe(`${bound} exec node ${options.join(' ')} src/main.ts`);
  });

  it('needs no shell to start or to look after itself', () => {
    for (const instruction of [...FILE.getENTRYPOINTs(), ...FILE.getHEALTHCHECKs()]) {
      expect(wordsOf(instruction.getTextContent())[0]).toBe('node');
    }
  });
});

describe.skipIf(!canChangeUser)('what deploy/Dockerfile builds', () => {
  let folder: string;
  let image: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'keytrail-image-'));
    await exec('chmod', ['755', folder]);
    image = await build(folder);
    await exec('chmod', ['-R', 'a-w', image]);
  }, 300_000);

  afterAll(() => rm(folder, { recursive: true }));

  it('holds what runs and nothing else', async () => {
    const app = join(image, 'app');
    expect((await readdir(app)).toSorted()).toEqual([
      'LICENSE',
      'dist',
      'node_modules',
      'package.json',
    ]);
    for (const name of Object.keys(manifest.devDependencies)) {
      await expect(access(join(app, 'node_modules', name))).rejects.toThrow('ENOENT');
    }
  });

  it('serves without a right to write, is found healthy, and ends by SIGTERM', async () => {
    const [user = '', group = ''] = last('USER')[0]?.split(':') ?? [];
    const [node, ...options] = wordsOf(FILE.getENTRYPOINTs()[0]?.getTextContent() ?? '');
    const main = options.pop() ?? '';
    expect(node).toBe('node');
    const env = {
      ...Object.fromEntries(last('ENV').map((word) => word.split('='))),
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
    const ended = once(child, 'close');
    let said = '';
    for await (const chunk of child.stderr) {
      said += chunk;
      if (said.includes('Forwards')) break;
    }
    const [, port = ''] = /http:\/\/0\.0\.0\.0:(\d+)\/graphql/.exec(said) ?? [];
    const check = wordsOf(FILE.getHEALTHCHECKs()[0]?.getTextContent() ?? '').slice(1);
    await exec(process.execPath, check, { env: { PORT: port } });
    const answer = await fetch(`http://127.0.0.1:${port}/graphql`, {
      method: 'POST',
      headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
      body: '{"query": "{ audit { totalCount } }"}',
    });
    expect(await answer.json()).toMatchObject({
      errors: [{ extensions: { code: 'UPSTREAM_UNAVAILABLE' } }],
    });
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    await expect(exec(process.execPath, check, { env: { PORT: port } })).rejects.toThrow();
  });

  it('is seen by an SDK of OpenTelemetry that is loaded beside it', async () => {
    const sdk = join(ROOT, 'test/helpers/print-spans.ts');
    const child = spawn(process.execPath, ['--import', sdk, join(image, 'app/dist/main.js')], {
      env: { NODE_ENV: 'production', PORT: '0', UPSTREAM_URL: 'http://127.0.0.1:1' },
      cwd: ROOT,
    });
    const ended = once(child, 'close');
    let said = '';
    for await (const chunk of child.stderr) {
      said += chunk;
      if (said.includes('Forwards')) break;
    }
    const [url = ''] = /http:\/\/[\w.:]+\/graphql/.exec(said) ?? [];
    const printed = once(child.stdout.setEncoding('utf8'), 'data');
    await fetch(url, {
      method: 'POST',
      headers: { authorization: 'Bearer t', 'content-type': 'application/json' },
      body: '{"query": "{ audit { totalCount } }"}',
    });
    expect(String(await printed)).toMatch(/CLIENT GET \/api\/v1\/audit /);
    child.kill('SIGTERM');
    await ended;
  });
});
