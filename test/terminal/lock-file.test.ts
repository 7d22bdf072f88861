import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { lutimesSync, readlinkSync, symlinkSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lockFile } from '../../src/terminal/lock-file.ts';
import { startInShell, startKeytrail } from '../helpers/process.ts';
import { startService } from '../helpers/service.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** A path in a folder of its own. */
const newPath = async () => join(await mkdtemp(join(folder, 'lock-')), 'checkpoint.json');

const take = (path: string) =>
  lockFile(path, {
    ...{ pid: process.pid, id: randomUUID(), now: () => new Date() },
    kill: (pid, signal) => process.kill(pid, signal),
  });

const HELD = { isHeld: expect.any(Function) };

/** The lock that this process would have, with some of its words replaced. */
async function forge(path: string, change: (words: string[]) => void) {
  const held = take(path);
  const words = readlinkSync(`${path}.run`).split(' ');
  if (held !== null && held !== 'unsupported' && 'isHeld' in held) held[Symbol.dispose]();
  change(words);
  symlinkSync(words.join(' '), `${path}.run`);
}

/** The number of a process that has ended, and which its parent has asked for. */
async function endedProcess(): Promise<string> {
  const child = spawn('true');
  await once(child, 'close');
  return String(child.pid);
}

describe('the lock of a file', () => {
  it('is had by one at a time, also by other names of the file, and leaves nothing', async () => {
    const path = await newPath();
    await writeFile(path, '');
    await symlink(path, `${path}-link`);
    const first = take(path);
    expect(first).toMatchObject(HELD);
    for (const name of [path, `${path}-link`])
      expect(take(name)).toMatchObject({ pid: process.pid, isElsewhere: false });
    if (first !== null && typeof first === 'object' && 'isHeld' in first) first[Symbol.dispose]();
    const second = take(path);
    expect(second).toMatchObject(HELD);
    if (second !== null && typeof second === 'object' && 'isHeld' in second)
      second[Symbol.dispose]();
    expect(await readdir(join(path, '..'))).toHaveLength(2);
  });

  it('of a process that has ended is taken over at once', async () => {
    const path = await newPath();
    const ended = await endedProcess();
    await forge(path, (words) => words.splice(0, 1, ended));
    expect(take(path)).toMatchObject(HELD);
    expect(await readdir(join(path, '..'))).toEqual(['checkpoint.json.run']);
  });

  it('of a process whose number another one has now is taken over at once', async () => {
    const path = await newPath();
    await forge(path, (words) => words.splice(1, 1, '1'));
    expect(take(path)).toMatchObject(HELD);
  });

  it('of another container counts for a minute after it was renewed', async () => {
    const path = await newPath();
    const ended = await endedProcess();
    await forge(path, (words) => words.splice(0, 3, ended, '1', 'other/pid:[1]'));
    expect(take(path)).toMatchObject({ pid: Number(ended), isElsewhere: true });
    const before = new Date(Date.now() - 61_000);
    lutimesSync(`${path}.run`, before, before);
    expect(take(path)).toMatchObject(HELD);
  });

  it('is taken over after processes that were killed while they took it over', async () => {
    const path = await newPath();
    const ended = await endedProcess();
    await forge(path, (words) => words.splice(0, 5, ended, '1', words[2] ?? '', 'then', 'a'));
    const [, , where = ''] = readlinkSync(`${path}.run`).split(' ');
    symlinkSync(`${ended} 1 ${where} then b`, `${path}.run.a`);
    symlinkSync(`${ended} 1 ${where} then c`, `${path}.run.b`);
    expect(take(path)).toMatchObject(HELD);
    expect(await readdir(join(path, '..'))).toEqual(['checkpoint.json.run']);
    expect(take(path)).toMatchObject({ pid: process.pid });
  });

  it('is no lock for a device', () => {
    expect(take('/dev/null')).toBeNull();
  });

  it('is had by one at a time while processes are killed that have it or take it', async () => {
    const path = await newPath();
    // Each takes it some times, and is killed at a random moment. The marker is there only while the lock is had.
    const program = `
      import { lockFile } from ${JSON.stringify(new URL('../../src/terminal/lock-file.ts', import.meta.url).href)};
      import { readFileSync, writeFileSync } from 'node:fs';
      import { randomUUID } from 'node:crypto';
      const path = ${JSON.stringify(path)};
      setTimeout(() => process.kill(process.pid, 'SIGKILL'), Math.random() * 150);
      const pause = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
      for (;;) {
        const lock = lockFile(path, { pid: process.pid, id: randomUUID(), now: () => new Date(), kill: process.kill.bind(process) });
        if (!lock.isHeld) { await pause(); continue; }
        writeFileSync(path + '.owner', String(process.pid));
        await pause();
        const owner = readFileSync(path + '.owner', 'utf8');
        if (owner !== String(process.pid)) console.log('two have it');
        console.log('held');
        lock[Symbol.dispose]();
      }`;
    let output = '';
    const run = async () => {
      for (let round = 0; round < 8; round += 1) {
        const child = spawn(process.execPath, ['--input-type=module', '-e', program]);
        const ended = once(child, 'exit'); // its output is closed before it has ended
        output += await text(child.stdout);
        await ended;
      }
    };
    await Promise.all([run(), run(), run(), run()]);
    expect(output).not.toContain('two');
    expect(output).toContain('held');
    expect(take(path)).toMatchObject(HELD);
    const left = (await readdir(join(path, '..'))).filter((name) => !name.endsWith('.owner'));
    expect(left.length).toBeLessThan(4); // those of processes that were killed between two steps
  });
});

describe('two runs with one checkpoint', () => {
  const event = (id: number) => ({ id, time: `2024-05-01T0${id}:00:00Z`, action: 'a', actor: 'b' });
  const idsOf = (stdout: string) =>
    stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).id);

  it('at once: the second says who has it, and ends with 1; the first goes on', async () => {
    const events = [event(2), event(1)];
    await using service = await startService(() => ({ body: events }));
    const path = await newPath();
    const settings = { UPSTREAM_URL: service.url, KEYTRAIL_TOKEN: 'a' };
    const args = ['audit', '--checkpoint', path];
    await using first = startKeytrail([...args, '--follow'], settings);
    await first.until(/"1"/);
    await using second = startInShell(`$KEYTRAIL audit --checkpoint ${path}`, settings);
    expect(await second.status).toBe(1);
    const { stderr, stdout } = second.output;
    expect(stdout).toBe('');
    expect(stderr.replace(/\s+/g, ' ')).toMatch(
      new RegExp(`in use by process ${first.child.pid}, since \\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z\\.`),
    );
    events.unshift(event(3));
    await first.until(/"3"/);
  });

  it('of which the first was killed: the second goes on at once', async () => {
    await using service = await startService({ body: [event(2), event(1)] });
    const path = await newPath();
    const settings = { UPSTREAM_URL: service.url, KEYTRAIL_TOKEN: 'a' };
    const script = `$KEYTRAIL audit --checkpoint ${path} --follow > ${path}.out & pid=$!
      until [ -s ${path} ] && [ "$(wc -l < ${path}.out)" = 2 ]; do sleep 0.1; done
      sleep 1; kill -9 $pid; $KEYTRAIL audit --checkpoint ${path} >> ${path}.out`;
    await using command = startInShell(script, settings);
    expect(await command.status).toBe(0);
    expect(idsOf(await readFile(`${path}.out`, 'utf8'))).toEqual(['2', '1']);
    expect(await readdir(join(path, '..'))).toEqual(['checkpoint.json', 'checkpoint.json.out']);
  });

  it('of which the second took it over: the first saves nothing more, and ends with 1', async () => {
    const events = [event(2), event(1)];
    await using service = await startService(() => ({ body: events }));
    const path = await newPath();
    const settings = { UPSTREAM_URL: service.url, KEYTRAIL_TOKEN: 'a' };
    await using first = startKeytrail(['audit', '--checkpoint', path, '--follow'], settings);
    await first.until(/"1"/);
    await rm(`${path}.run`);
    expect(take(path)).toMatchObject(HELD);
    events.unshift(event(3));
    expect(await first.status).toBe(1);
    expect(first.output.stderr.replace(/\s+/g, ' ')).toContain('was taken over by another run');
    expect(await readFile(path, 'utf8')).not.toBe('');
    expect(take(path)).toMatchObject({ pid: process.pid });
  });

  it.each([
    ['/dev/full', 1],
    ['/dev/null', 0],
  ])('with %s as checkpoint: the status is %i', async (device, status) => {
    await using service = await startService({ body: [event(1)] });
    const settings = { UPSTREAM_URL: service.url, KEYTRAIL_TOKEN: 'a' };
    await using command = startInShell(`$KEYTRAIL audit --checkpoint ${device}`, settings);
    expect(await command.status).toBe(status);
  });
});
