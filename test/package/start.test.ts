import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createClone } from '../helpers/clone.ts';
import { OLDER_NODE } from '../helpers/older-node.ts';

const exec = promisify(execFile);

describe('a clone', () => {
  let clone: string;
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    clone = join(await mkdtemp(join(tmpdir(), 'keytrail-start-')), 'keytrail');
    createClone(clone);
    const own = Object.entries(process.env).filter(([name]) => !/^(?:npm_|NODE_)/.test(name));
    const PATH = [dirname(OLDER_NODE ?? process.execPath), process.env['PATH']].join(delimiter);
    env = { ...Object.fromEntries(own), PATH, PORT: '0' };
  });

  afterAll(() => rmSync(dirname(clone), { recursive: true }));

  it('prints at most ten lines between npm ci and the greeting of npm start', async () => {
    const { stdout, stderr } = await exec('npm', ['ci', '--dry-run'], { cwd: clone, env });
    const child = spawn('npm', ['start'], { cwd: clone, env });
    let started = '';
    child.stdout.on('data', (chunk) => {
      started += chunk;
    });
    const [greeting] = await once(child.stderr, 'data');
    child.kill('SIGTERM');
    await once(child, 'close');
    expect(String(greeting)).toMatch(/^Keytrail /);
    const actions = /^(?:add|remove|change) .*\n/gm; // only a dry run prints them
    const lines = (stderr + stdout.replace(actions, '') + started).split('\n');
    expect(lines.length - 1, lines.join('\n')).toBeLessThanOrEqual(10);
  });

  it('is started and built only if what it is built of is installed', async () => {
    rmSync(join(clone, 'node_modules'), { recursive: true });
    const start = exec(process.execPath, ['scripts/start.mjs'], { cwd: clone });
    await expect(start).rejects.toThrow('Packages are missing: run npm ci. After npm prune');
    await exec('npm', ['run', 'prepare'], { cwd: clone, env });
  });
});
