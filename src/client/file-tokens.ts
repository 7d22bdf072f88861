import { randomUUID } from 'node:crypto';
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { TokenStore, Tokens } from './session.ts';

/** The process that has the lock renews it this often; in milliseconds. */
const RENEW_MS = 5000;

/** The lock of a process that has not renewed it for this time is removed; in milliseconds. */
const STALE_MS = 30_000;

/** Between two attempts to get the lock; in milliseconds. */
const PAUSE_MS = 50;

/**
 * Keeps the tokens of a session in a file that only its owner can read. Several processes can share it: the one that has
 * the lock, `<path>.lock`, logs in, and the others use its tokens.
 */
export function fileTokens(path: string): Required<TokenStore> {
  return {
    load: async () => {
      const text = await readFile(path, 'utf8').catch(ignore('ENOENT'));
      return text === undefined ? null : parseTokens(text, path);
    },
    save: async ({ accessToken, refreshToken, expiresAt }) => {
      const next = `${path}.${randomUUID()}`;
      try {
        const text = JSON.stringify({ accessToken, refreshToken, expiresAt });
        await writeFile(next, text, { mode: 0o600, flag: 'wx', flush: true });
        await rename(next, path);
      } catch (error) {
        await rm(next, { force: true });
        throw error;
      }
    },
    lock: async (work) => {
      const lock = `${path}.lock`;
      const id = randomUUID();
      while (!(await acquire(lock, id))) await wait(PAUSE_MS);
      const renewal = setInterval(() => {
        const now = new Date();
        utimes(lock, now, now).catch(() => {}); // removed by another process, while this one was suspended
      }, RENEW_MS);
      try {
        return await work();
      } finally {
        clearInterval(renewal);
        const owner = await readFile(lock, 'utf8').catch(ignore('ENOENT'));
        if (owner === id) await rm(lock, { force: true });
      }
    },
  };
}

/** Creates the lock. False if another process has it. */
async function acquire(lock: string, id: string): Promise<boolean> {
  const created = writeFile(lock, id, { mode: 0o600, flag: 'wx' }).then(() => true);
  if (await created.catch(ignore('EEXIST'))) return true;
  if (!(await isStale(lock))) return false;
  const renamed = `${lock}.${id}`;
  await rename(lock, renamed).catch(ignore('ENOENT'));
  // Between the check and the renaming, another process may have removed the stale lock and created its own.
  if (!(await isStale(renamed))) await link(renamed, lock).catch(ignore('ENOENT', 'EEXIST'));
  await rm(renamed, { force: true });
  return false;
}

async function isStale(lock: string): Promise<boolean> {
  const found = await stat(lock).catch(ignore('ENOENT'));
  return found !== undefined && Date.now() - found.mtimeMs >= STALE_MS;
}

/** @throws Error without the text: it may contain a token. */
function parseTokens(text: string, path: string): Tokens {
  try {
    const { accessToken, refreshToken, expiresAt } = JSON.parse(text);
    const isText = (value: unknown) => typeof value === 'string';
    const isTextOrNull = (value: unknown) => value === null || isText(value);
    if (isText(accessToken) && isTextOrNull(refreshToken) && isTextOrNull(expiresAt))
      return { accessToken, refreshToken, expiresAt };
  } catch {} // not JSON, or null
  throw new Error(
    `The file ${path} has no tokens: restore it, or remove it and log in with a new client secret.`,
  );
}

/** Returns undefined for an error with one of these codes, and throws any other. */
function ignore(...codes: readonly string[]): (error: unknown) => undefined {
  return (error) => {
    if (codes.includes(Object(error).code)) return undefined;
    throw error;
  };
}
