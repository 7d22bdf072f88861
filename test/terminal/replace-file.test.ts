import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { replaceFile } from '../../src/terminal/replace-file.ts';
import { createFolder, runFor } from '../helpers/recording.ts';
import { startService } from '../helpers/service.ts';

const filesIn = async (folder: Awaited<ReturnType<typeof createFolder>>) =>
  (await readdir(dirname(folder.pathOf('a')))).toSorted();

const body = [{ time: '2026-11-21T08:00:00Z', action: 'key.create', user: 'Ann Lee' }];

describe('a file that is replaced', () => {
  it('leaves all files next to it as they are, also ones with the names of temporary files', async () => {
    await using folder = await createFolder();
    const file = folder.pathOf('a.har');
    const id = randomUUID();
    await replaceFile(file, 'old', id);
    const others = ['a.har.tmp', 'a.har~', '.a.har.tmp', 'a.har.1.tmp'];
    for (const name of others) await writeFile(folder.pathOf(name), name);
    await replaceFile(file, 'new', id);
    for (const name of others) expect(await folder.read(name)).toBe(name);
    expect(await folder.read('a.har')).toBe('new');
    expect(await filesIn(folder)).toEqual([...others, 'a.har'].toSorted());
  });

  it('is not replaced if its temporary file exists, which stays', async () => {
    await using folder = await createFolder();
    await writeFile(folder.pathOf('.keytrail-1.tmp'), 'of another process');
    await expect(replaceFile(folder.pathOf('a.har'), 'new', '1')).rejects.toThrow(/EEXIST/);
    expect(await folder.read('.keytrail-1.tmp')).toBe('of another process');
    expect(await filesIn(folder)).toEqual(['.keytrail-1.tmp']);
  });

  it('is as it was, without a temporary file, if the new one cannot be written', async () => {
    await using folder = await createFolder();
    const file = folder.pathOf('a.har');
    await writeFile(file, 'old');
    // The shell lets its process write 8 blocks at most, and ignore the signal of the limit.
    const module = new URL('../../src/terminal/replace-file.ts', import.meta.url).href;
    const program = `import { replaceFile } from '${module}'; replaceFile('${file}', 'x'.repeat(1e6), '1');`;
    const limited = 'trap "" XFSZ; ulimit -f 8; exec "$0" --input-type=module -e "$1"';
    const args = ['-c', limited, process.execPath, program];
    const { status, stderr } = spawnSync('bash', args, { encoding: 'utf8' });
    expect(stderr).toContain('EFBIG');
    expect(status).toBe(1);
    expect(await folder.read('a.har')).toBe('old');
    expect(await filesIn(folder)).toEqual(['a.har']);
  });

  it('is the one that links lead to, and they stay', async () => {
    await using folder = await createFolder();
    await mkdir(folder.pathOf('real'));
    const file = folder.pathOf('real/a.har');
    await writeFile(file, 'old');
    await chmod(file, 0o644);
    await symlink('real/a.har', folder.pathOf('one'));
    await symlink('one', folder.pathOf('two'));
    await replaceFile(folder.pathOf('two'), 'new', randomUUID());
    for (const link of ['one', 'two'])
      expect((await lstat(folder.pathOf(link))).isSymbolicLink()).toBe(true);
    expect(await readFile(file, 'utf8')).toBe('new');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await filesIn(folder)).toEqual(['one', 'real', 'two']);
  });

  it('has a name of any length that the system allows', async () => {
    await using folder = await createFolder();
    const name = 'a'.repeat(255);
    await replaceFile(folder.pathOf(name), 'new', randomUUID());
    expect(await filesIn(folder)).toEqual([name]);
  });
});

describe('keytrail record', () => {
  it('refuses a folder, a pipe, a link to nothing and a missing folder, and changes none of them', async () => {
    await using service = await startService({ body });
    await using folder = await createFolder();
    await mkdir(folder.pathOf('folder'));
    execFileSync('mkfifo', [folder.pathOf('pipe')]);
    await symlink('nothing', folder.pathOf('broken'));
    await symlink('loop', folder.pathOf('loop'));
    await symlink('pipe', folder.pathOf('to-pipe'));
    const before = await filesIn(folder);
    for (const name of [...before, 'no/such/file', 'folder/']) {
      const to = folder.pathOf(name);
      const { status, stderr } = await runFor(service.url, ['record', '--to', to]);
      expect(`${status} ${stderr}`, name).toMatch(
        /^2 keytrail record:\n {2}- --to .* cannot be written\. Name a regular file/,
      );
    }
    expect(await filesIn(folder)).toEqual(before);
    expect((await lstat(folder.pathOf('broken'))).isSymbolicLink()).toBe(true);
    expect((await lstat(folder.pathOf('pipe'))).isFIFO()).toBe(true);
  });

  it('writes to a device, which stays one', async () => {
    await using service = await startService({ body });
    await using folder = await createFolder();
    // Root may replace the system's own device: a mistake must not.
    const isRoot = process.getuid?.() === 0;
    const device = isRoot ? folder.pathOf('device') : '/dev/null';
    if (isRoot) execFileSync('mknod', [device, 'c', '1', '3']);
    const link = folder.pathOf('link');
    await symlink(device, link);
    for (const to of [device, link]) {
      const { status, stderr } = await runFor(service.url, ['record', '--to', to]);
      expect(`${status} ${stderr}`).toMatch(/^0 Recorded/);
      expect((await stat(device)).isCharacterDevice()).toBe(true);
      expect((await lstat(link)).isSymbolicLink()).toBe(true);
    }
  });

  it('writes to stdout with --to /dev/stdout, and nothing else there', async () => {
    await using service = await startService({ body });
    const args = ['record', '--to', '/dev/stdout'];
    const { status, stdout, stderr } = await runFor(service.url, args);
    expect(`${status} ${stderr}`).toMatch(/^0 Recorded/);
    expect(JSON.parse(stdout).log.entries).toHaveLength(1);
  });
});
