import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { createBuiltClone, outsideEnvironment } from '../helpers/clone.ts';

const exec = promisify(execFile);

/** The folders that are packed, with a file of each that is built before the types. */
const PACKAGES = { keytrail: 'dist/main.js', 'keytrail-client': 'index.js' };

/** What `npm run build` starts, in its order. */
const TOOLS = ['rolldown/bin/cli.mjs', 'typescript/bin/tsc'];

describe('a clone in which packing fails', () => {
  let clone: string;
  let files: readonly string[];

  const run = async (command: string, ...args: readonly string[]) =>
    (await exec(command, args, { cwd: clone, env: outsideEnvironment() })).stdout;

  /** Starts npm as the leader of a group, and kills all of it once a condition holds. */
  async function kill(args: readonly string[], isDue: () => boolean | Promise<boolean>) {
    const options = { cwd: clone, env: outsideEnvironment(), detached: true } as const;
    const npm = spawn('npm', args, { ...options, stdio: 'ignore' });
    const exited = once(npm, 'exit');
    while (!(await isDue())) await sleep(5);
    if (npm.pid !== undefined && npm.exitCode === null) process.kill(-npm.pid, 'SIGKILL');
    await exited;
  }

  /** The files of both packages. */
  async function pack(): Promise<readonly string[]> {
    const lists = Object.keys(PACKAGES).map(async (name) => {
      const [packed] = JSON.parse(await run('npm', 'pack', '--json', `./dist/${name}`));
      const list = await run('tar', '-tzf', packed.filename);
      return list.split('\n').map((file) => `${name}: ${file}`);
    });
    return (await Promise.all(lists)).flat().toSorted();
  }

  /** Puts a program in the place of another until the next test. */
  async function replace(tool: string, program: string) {
    const path = join(clone, 'node_modules', tool);
    await rename(path, `${path}.kept`); // a hard link: its content is that of this repository
    await writeFile(path, program);
  }

  const expectNothingToPack = async () => {
    for (const name of Object.keys(PACKAGES))
      await expect(run('npm', 'pack', `./dist/${name}`), name).rejects.toThrow(/package\.json/);
    expect((await readdir(clone)).filter((file) => file.endsWith('.tgz'))).toEqual([]);
  };

  beforeAll(async () => {
    clone = join(await mkdtemp(join(tmpdir(), 'keytrail-pack-')), 'keytrail');
    await createBuiltClone(clone);
    await run('git', 'init', '--quiet');
    await run('git', 'add', '.');
    const author = ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.com'];
    await run('git', ...author, 'commit', '--quiet', '--message', 'first');
    files = await pack();
  }, 600_000);

  afterAll(() => rmSync(dirname(clone), { recursive: true }));

  afterEach(async () => {
    for (const tool of TOOLS.map((name) => join(clone, 'node_modules', name)))
      if (existsSync(`${tool}.kept`)) await rename(`${tool}.kept`, tool);
    expect(await run('git', 'status', '--porcelain')).toBe('');
    expect(await run('npm', '--silent', 'start', '--', '--version')).toBe(`${manifest.version}\n`);
    if (!existsSync(join(clone, 'dist/keytrail/package.json'))) await run('npm', 'run', 'build');
    expect(await pack()).toEqual(files);
    for (const file of await readdir(clone)) if (file.endsWith('.tgz')) await rm(join(clone, file));
  }, 600_000);

  it.each(['/nowhere', 'README.md'])('as the tarball cannot be written to %s', async (folder) => {
    for (const name of Object.keys(PACKAGES)) {
      const packing = run('npm', 'pack', '--pack-destination', folder, `./dist/${name}`);
      await expect(packing).rejects.toThrow(/ENOENT|ENOTDIR/);
    }
  });

  it('as npm pack has no folder: it says what to run', async () => {
    for (const options of [[], ['--pack-destination', '/nowhere']])
      await expect(run('npm', 'pack', ...options)).rejects.toThrow(
        'Run npm run build, then npm pack ./dist/keytrail\n',
      );
  });

  it('as a tool of the build fails, or the build is killed: nothing is packed, not even what was built before', async () => {
    for (const tool of TOOLS)
      for (const end of ['process.exitCode = 3;', 'process.kill(process.ppid, "SIGKILL");']) {
        await replace(tool, `console.log('${tool} fails'); ${end}`);
        await expect(run('npm', 'run', 'build')).rejects.toMatchObject(
          end.includes('exitCode')
            ? { code: 3, stdout: expect.stringContaining(`${tool} fails`) }
            : { code: expect.any(Number) },
        );
        await expectNothingToPack();
        await rename(join(clone, `node_modules/${tool}.kept`), join(clone, `node_modules/${tool}`));
      }
  });

  it('as the build is killed while it writes a package', async () => {
    for (const [name, file] of Object.entries(PACKAGES)) {
      const written = join(clone, 'dist', name, file);
      await rm(written, { force: true });
      await kill(['run', 'build'], () => existsSync(written));
      await expectNothingToPack();
    }
  });

  it.each([200, 500])('as npm pack is killed after %i ms', async (ms) => {
    await mkdir(join(clone, 'dist/packed'), { recursive: true });
    await kill(['pack', '--pack-destination', 'dist/packed', './dist/keytrail'], async () => {
      await sleep(ms);
      return true;
    });
  });
});
