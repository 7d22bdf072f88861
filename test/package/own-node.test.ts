import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import manifest from '../../package.json' with { type: 'json' };
import { createClone, outsideEnvironment } from '../helpers/clone.ts';
import { OLDER_NODE, OLDEST_NODE } from '../helpers/older-node.ts';

const exec = promisify(execFile);

/** What is at the place of the Node that npm ci installs. */
const NODES: Readonly<Record<string, string | null>> = {
  'that could not be installed': null,
  'made for another libc': '#!/lib/none.so.1\n',
  'made for another processor': '\x7fELF\x02\x01\x01\x00\x03\x00\xf3\x00',
  'that fails': '#!/bin/sh\nexit 127\n',
  'that is empty': '',
};

/** They are too old; the machine has the older one, if at all. */
const OLD_NODES = [OLDEST_NODE, ...(OLDER_NODE ? [OLDER_NODE] : [])];

/** A test that takes no time. */
const SOME_TEST = 'test/util/closest-name.test.ts';

describe('a clone', () => {
  let clone: string;

  /** Runs a program with a Node first on the path, on which is none of this repository. */
  const run = (node: string, command: string, ...args: readonly string[]) => {
    const outside = outsideEnvironment();
    const folders = String(outside['PATH']).split(delimiter);
    const others = folders.filter((folder) => !folder.includes('node_modules'));
    const PATH = [dirname(node), ...others].join(delimiter);
    return exec(command, args, { cwd: clone, env: { ...outside, PATH } });
  };

  /** Replaces the package `node` by one whose installation fails. */
  async function breakNode() {
    const folder = await mkdtemp(join(dirname(clone), 'node-'));
    const { node: version } = manifest.optionalDependencies;
    const scripts = { preinstall: 'echo No such platform >&2; exit 1' };
    const broken = { name: 'node', version, bin: { node: 'bin/node' }, scripts };
    await writeFile(join(folder, 'package.json'), JSON.stringify(broken));
    await run(process.execPath, 'npm', 'pack', '--silent', folder);
    const file = `node-${version}.tgz`;
    const hash = createHash('sha512').update(await readFile(join(clone, file)));
    const lock = JSON.parse(await readFile(join(clone, 'package-lock.json'), 'utf8'));
    const { dependencies: _, ...locked } = lock.packages['node_modules/node'];
    const integrity = `sha512-${hash.digest('base64')}`;
    lock.packages['node_modules/node'] = { ...locked, resolved: `file:${file}`, integrity };
    const optionalDependencies = { node: `file:${file}` };
    Object.assign(lock.packages[''], { optionalDependencies });
    await writeFile(join(clone, 'package-lock.json'), JSON.stringify(lock));
    const own = JSON.stringify({ ...manifest, optionalDependencies });
    await writeFile(join(clone, 'package.json'), own);
  }

  async function installNode(content: string | null) {
    await rm(join(clone, 'node_modules/node'), { recursive: true, force: true });
    await rm(join(clone, 'node_modules/.bin/node'), { force: true });
    if (content === null) return;
    const bin = join(clone, 'node_modules/node/bin');
    await mkdir(bin, { recursive: true });
    await writeFile(join(bin, 'node'), content, { mode: 0o755 });
    await symlink('../node/bin/node', join(clone, 'node_modules/.bin/node'));
  }

  beforeAll(async () => {
    clone = join(await mkdtemp(join(tmpdir(), 'keytrail-own-node-')), 'keytrail');
    createClone(clone);
    await rm(join(clone, 'node_modules'), { recursive: true });
    await breakNode();
    await run(process.execPath, 'npm', 'ci', '--prefer-offline');
  }, 600_000);

  afterAll(() => rmSync(dirname(clone), { recursive: true }));

  it('is built by npm ci without its Node, and is what CI runs on other platforms', async () => {
    expect(existsSync(join(clone, 'node_modules/.bin/node'))).toBe(false);
    const { jobs } = parse(await readFile(join(clone, '.github/workflows/ci.yml'), 'utf8'));
    const steps: readonly { readonly run?: string }[] = jobs.platforms.steps;
    const [install, ...commands] = steps.flatMap((step) => step.run ?? []);
    expect(install).toBe('npm ci');
    const script = `set -e\n${commands.join('cd "$OLDPWD"\ncd app\n')}`;
    const { stdout } = await run(process.execPath, 'bash', '-c', script);
    expect(stdout).toContain(`\n${manifest.version}\n`);
    expect(stdout).toMatch(/pass 3\n.*fail 0\n/);
  });

  describe.each(Object.entries(NODES))('with a Node %s', (_, content) => {
    beforeEach(() => installNode(content));

    it('starts and is tested with the Node of the path', async () => {
      const node = process.execPath;
      const started = await run(node, 'npm', '--silent', 'start', '--', '--version');
      expect(started).toMatchObject({ stdout: `${manifest.version}\n`, stderr: '' });
      const { stdout } = await run(node, 'npm', '--silent', 'test', '--', SOME_TEST);
      expect(stdout).toMatch(/Test Files .*1 passed/);
    });

    it.each(OLD_NODES)('says in one sentence which Node it needs: %s', async (node) => {
      const { stdout: version } = await run(node, 'node', '--version');
      const sentence = `keytrail needs Node 24.16, 26 or later, and this is ${version.trim()}: install one from https://nodejs.org or with a version manager; on Linux, and on Windows on x64, npm ci with scripts and optional packages installs one.\n`;
      for (const script of ['start', 'test']) {
        const running = run(node, 'npm', '--silent', script, '--', '--version');
        await expect(running).rejects.toMatchObject({ code: 1, stdout: '', stderr: sentence });
      }
      const stderr = `Not built: ${sentence}`;
      const building = run(node, 'npm', '--silent', 'run', 'build');
      await expect(building).rejects.toMatchObject({ code: 1, stdout: '', stderr });
      // npm ci runs it last, and would fail with it.
      expect(await run(node, 'npm', '--silent', 'run', 'prepare')).toEqual({ stdout: '', stderr });
    });
  });

  it('runs other scripts with the Node of the path, as npm ci removes one that does not start', async () => {
    await installNode('');
    await run(process.execPath, 'npm', 'run', 'prepare');
    await run(process.execPath, 'npm', 'run', 'schema:check');
  });
});
