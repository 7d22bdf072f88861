import { execFile } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { fileTokens } from '../../src/client/file-tokens.ts';
import { createSession, SessionLost } from '../../src/client/index.ts';
import { DEMO_CLIENTS } from '../../src/testing/sandbox/seed.ts';
import { createTestbed } from '../../src/testing/testbed.ts';
import { CANARY, expectNoCanary } from '../helpers/canary.ts';
import { failDisk } from '../helpers/failing-disk.ts';
import { COMPILE_CACHE } from '../helpers/process.ts';

const TOKENS = { accessToken: 'a', refreshToken: 'r', expiresAt: null };
const [, { clientId, secret: clientSecret }] = DEMO_CLIENTS;

/** A file in a new folder, which is removed at the end. */
async function createFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'keytrail-tokens-'));
  return {
    folder,
    path: join(folder, 'tokens.json'),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

/** Runs a program in a process of its own. It has the exports of the client. */
async function run(program: string): Promise<string> {
  const source = (name: string) => new URL(`../../src/client/${name}.ts`, import.meta.url).href;
  const imports = `
    import { createSession } from '${source('index')}';
    import { fileTokens } from '${source('file-tokens')}';`;
  const args = ['--input-type=module', '--eval', `${imports}${program}`];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: COMPILE_CACHE });
  return stdout;
}

describe('a file of tokens', () => {
  it('is null before the first login, then has the last tokens, and only its owner can read it', async () => {
    await using files = await createFolder();
    const tokens = fileTokens(files.path);
    expect(await tokens.load()).toBeNull();
    await tokens.save(TOKENS);
    const first = await stat(files.path);
    expect(first.mode & 0o777).toBe(0o600);
    const next = { ...TOKENS, accessToken: 'b', expiresAt: '2026-11-24T06:35:33Z' };
    await tokens.save(next);
    expect(await fileTokens(files.path).load()).toEqual(next);
    expect((await stat(files.path)).ino).not.toBe(first.ino); // renamed, so that no reader sees half of it
    expect(await readdir(files.folder)).toEqual(['tokens.json']);
  });

  it('gets mode 600 if it had another', async () => {
    await using files = await createFolder();
    await writeFile(files.path, '{}', { mode: 0o644 });
    await fileTokens(files.path).save(TOKENS);
    expect((await stat(files.path)).mode & 0o777).toBe(0o600);
  });

  it('that other users can read is a warning', async () => {
    await using files = await createFolder();
    const warnings: string[] = [];
    const tokens = fileTokens(files.path, { onWarning: (message) => warnings.push(message) });
    await tokens.save(TOKENS);
    await tokens.load();
    expect(warnings).toEqual([]);
    await chmod(files.path, 0o640);
    expect(await tokens.load()).toEqual(TOKENS);
    expect(warnings).toEqual([
      `Other users can use the tokens in ${files.path}: run chmod 600 ${files.path}.`,
    ]);
    const warned = once(process, 'warning');
    await fileTokens(files.path).load();
    expect(String(await warned)).toContain('Other users can use the tokens');
  });

  it('that cannot be replaced keeps the tokens beside it, in one file', async () => {
    await using files = await createFolder();
    await mkdir(join(files.path, 'full'), { recursive: true }); // a folder is not replaced by a file
    const { save } = fileTokens(files.path);
    const beside = async () =>
      (await readdir(files.folder)).filter((name) => name !== 'tokens.json');
    for (const accessToken of ['a', 'b']) {
      const tokens = { ...TOKENS, accessToken };
      for (let count = 0; count < 2; count += 1) {
        const failure = await Promise.resolve(save(tokens)).catch((error: Error) => error);
        const [name = '', ...others] = await beside();
        const kept = join(files.folder, name);
        expect(failure).toMatchObject({ cause: { code: expect.stringMatching(/^E/) } });
        expect(String(failure)).toContain(`They were written to ${kept}.`);
        expect([await fileTokens(kept).load(), others]).toEqual([tokens, []]);
        expect((await stat(kept)).mode & 0o777).toBe(0o600);
      }
    }
    await rm(files.path, { recursive: true });
    await save({ ...TOKENS, accessToken: 'c' });
    expect(await beside()).toEqual([]);
  });

  it('that someone has moved there, as the message says, is not written over', async () => {
    await using files = await createFolder();
    await using testbed = await createTestbed();
    const tokens = fileTokens(files.path);
    const session = createSession({ url: testbed.url, clientId, clientSecret, tokens });
    {
      using _ = failDisk({ call: 'rename', code: 'EIO', times: 1, at: files.folder });
      await expect(session.token()).rejects.toThrow('They were written to');
    }
    const names = await readdir(files.folder);
    const kept = names.find((name) => /json\.(?!lock)/.test(name)) ?? '';
    await rename(join(files.folder, kept), files.path);
    await rm(`${files.path}.lock`);
    const other = createSession({ url: testbed.url, clientId, tokens: fileTokens(files.path) });
    const renewed = await other.token(await other.token());
    const first = await session.token();
    expect(first).not.toBe(renewed);
    expect(await session.token(first)).toBe(renewed);
    expect(await readdir(files.folder)).toEqual(['tokens.json']);
  });

  it.each([
    '',
    `{"accessToken": "${CANARY.accessToken}"`,
    `["${CANARY.accessToken}"]`,
    'null',
    '{"accessToken": "a"}',
    '{"accessToken": 1, "refreshToken": "canary", "expiresAt": null}',
  ])('that is damaged, as %j, is an error without its text, and prevents a login', async (text) => {
    await using files = await createFolder();
    await using testbed = await createTestbed();
    await writeFile(files.path, text, { mode: 0o600 });
    const tokens = fileTokens(files.path);
    const session = createSession({ url: testbed.url, clientId, clientSecret, tokens });
    const failure = await session.token().catch((error: unknown) => error);
    expect(failure).toMatchObject({ message: expect.stringMatching(/tokens\.json has no tokens/) });
    expectNoCanary(String(failure));
    expect(testbed.requests).toEqual([]);
    expect(await readFile(files.path, 'utf8')).toBe(text);
    expect(await readdir(files.folder)).toEqual(['tokens.json']); // without a lock
  });
});

describe('the lock of a file of tokens', () => {
  it('lets one process work at a time', async () => {
    await using files = await createFolder();
    const counter = join(files.folder, 'counter');
    await writeFile(counter, '0');
    const program = `
      import { readFile, writeFile } from 'node:fs/promises';
      const { lock } = fileTokens(${JSON.stringify(files.path)});
      for (let count = 0; count < 10; count += 1) await lock(async () => {
        const value = Number(await readFile(${JSON.stringify(counter)}, 'utf8'));
        await writeFile(${JSON.stringify(counter)}, String(value + 1));
      });`;
    await Promise.all([run(program), run(program), run(program)]);
    expect(await readFile(counter, 'utf8')).toBe('30');
    expect((await readdir(files.folder)).sort()).toEqual(['counter']);
  });

  it('lets two processes share one login', async () => {
    await using files = await createFolder();
    await using testbed = await createTestbed();
    const options = JSON.stringify({ url: testbed.url, clientId, clientSecret });
    const program = `
      const tokens = fileTokens(${JSON.stringify(files.path)});
      console.log(await createSession({ ...${options}, tokens }).token());`;
    const [first, second] = await Promise.all([run(program), run(program)]);
    expect(first).toMatch(/./);
    expect(second).toBe(first);
    expect(testbed.requests.map(({ body }) => body)).toEqual([
      { client_id: clientId, client_secret: clientSecret },
    ]);
  });

  it('is released if the work fails', async () => {
    await using files = await createFolder();
    const { lock } = fileTokens(files.path);
    await expect(lock(async () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await lock(async () => 'yes')).toBe('yes');
    expect(await readdir(files.folder)).toEqual([]);
  });

  it('waits for another process until that removes its lock', async () => {
    await using files = await createFolder();
    await writeFile(`${files.path}.lock`, 'another process');
    let isRemoved = false;
    const order: string[] = [];
    const working = fileTokens(files.path).lock(async () => order.push(`work ${isRemoved}`));
    await fileTokens(`${files.path}.other`).lock(async () => order.push('other file'));
    isRemoved = true;
    await rm(`${files.path}.lock`);
    await working;
    expect(order).toEqual(['other file', 'work true']);
  });

  it('of a process that was killed is an error after a minute, until someone removes it', async () => {
    await using files = await createFolder();
    const lock = `${files.path}.lock`;
    await writeFile(lock, '');
    const old = new Date(Date.now() - 60_000);
    await utimes(lock, old, old);
    await using testbed = await createTestbed();
    const tokens = fileTokens(files.path);
    const session = createSession({ url: testbed.url, clientId, clientSecret, tokens });
    await expect(session.token()).rejects.toThrow(`it has kept ${lock}.`);
    expect(testbed.requests).toEqual([]);
    await rm(lock);
    expect(await session.token()).toMatch(/./);
    expect(await readdir(files.folder)).toEqual(['tokens.json']);
  });

  it('of the future is an error, too', async () => {
    await using files = await createFolder();
    const lock = `${files.path}.lock`;
    await writeFile(lock, '');
    const later = new Date(Date.now() + 3_600_000);
    await utimes(lock, later, later);
    const working = fileTokens(files.path).lock(async () => expect.unreachable());
    await expect(working).rejects.toThrow(`it has kept ${lock}.`);
  });

  it('is not removed if it is that of another process by now', async () => {
    await using files = await createFolder();
    const lock = `${files.path}.lock`;
    await fileTokens(files.path).lock(async () => {
      await rm(lock);
      await writeFile(lock, 'another process');
    });
    expect(await readFile(lock, 'utf8')).toBe('another process');
  });

  it('stays until the tokens of a login are written, by this process without another login', async () => {
    await using files = await createFolder();
    await using testbed = await createTestbed();
    const lock = `${files.path}.lock`;
    const options = { url: testbed.url, clientId, clientSecret };
    const tokens = fileTokens(files.path);
    const session = createSession({
      ...options,
      tokens,
      fetch: async (url, init) => {
        await mkdir(join(files.path, 'full'), { recursive: true }); // no file can replace it
        return fetch(url, init);
      },
    });
    for (let count = 0; count < 2; count += 1)
      await expect(session.token()).rejects.toThrow(`${lock} stays`);
    const beside = createSession({ ...options, tokens });
    await expect(beside.token()).rejects.toThrow(`${lock} stays`);
    const old = new Date(Date.now() - 60_000);
    await utimes(lock, old, old);
    const another = createSession({ ...options, tokens: fileTokens(files.path) });
    await expect(another.token()).rejects.toThrow('Check whether the saved credential is used up');

    await rm(files.path, { recursive: true });
    const token = await beside.token();
    expect(await readdir(files.folder)).toEqual(['tokens.json']);
    const renewed = await another.token(token);
    expect(await session.token()).toBe(token); // does not write its older tokens
    expect(await session.token(token)).toBe(renewed);
    expect(await readdir(files.folder)).toEqual(['tokens.json']);
    expect(testbed.requests.map(({ body }) => Object.keys(Object(body))[1])).toEqual([
      'client_secret',
      'refresh_token',
    ]);
  });

  it('that stays lets one session of its process work at a time', async () => {
    await using files = await createFolder();
    await mkdir(join(files.path, 'full'), { recursive: true });
    const { lock, save } = fileTokens(files.path);
    await expect(lock(async () => save(TOKENS))).rejects.toThrow('stays');
    const order: string[] = [];
    const work = (name: string) =>
      lock(async () => {
        order.push(`${name} begins`);
        await readdir(files.folder);
        order.push(`${name} ends`);
      });
    await Promise.all([work('one'), work('two')]);
    expect(order).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
  });

  it('stays after a login whose outcome is unknown, until someone removes it', async () => {
    await using files = await createFolder();
    await using testbed = await createTestbed();
    const options = { url: testbed.url, clientId, clientSecret };
    const tokens = fileTokens(files.path);
    testbed.respondNext({ lost: 'before', status: 500 });
    const first = createSession({ ...options, tokens });
    const second = createSession({ ...options, tokens });
    for (const session of [first, second])
      for (let count = 0; count < 2; count += 1)
        await expect(session.token()).rejects.toBeInstanceOf(SessionLost);
    expect(testbed.requests).toHaveLength(1);
    expect(await readdir(files.folder)).toEqual(['tokens.json.lock']);
    await rm(`${files.path}.lock`); // the secret was not used
    await expect(first.token()).rejects.toBeInstanceOf(SessionLost);
    expect(await readdir(files.folder)).toEqual([]);
    expect(await second.token()).toMatch(/./);
    expect(await readdir(files.folder)).toEqual(['tokens.json']);
    expect(testbed.requests).toHaveLength(2);
  });
});
