import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import type { TokenStore, Tokens } from './session.ts';

/**
 * A process that has kept the lock for this time, in milliseconds, was killed during a login. The lock stays: the refresh
 * token may be used up, so that no other process may try it.
 */
const MAX_LOCK_MS = 60_000;

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
    save: async (tokens) => {
      const next = `${path}.${randomUUID()}`;
      try {
        const options = { mode: 0o600, flag: 'wx', flush: true };
        await writeFile(next, JSON.stringify(tokens), options);
        await rename(next, path);
      } finally {
        await rm(next, { force: true });
      }
    },
    lock: async (work) => {
      const lock = `${path}.lock`;
      const create = () => writeFile(lock, '', { flag: 'wx' }).then(() => true, ignore('EEXIST'));
      while (!(await create())) {
        const held = await stat(lock).catch(ignore('ENOENT'));
        if (held && Date.now() - held.mtimeMs >= MAX_LOCK_MS)
          throw new Error(
            `A process that logged in was killed, or hangs: it has kept ${lock} for a minute. Check whether the saved credential is used up, then remove that file.`,
          );
        await wait(50);
      }
      try {
        return await work();
      } finally {
        await rm(lock, { force: true });
      }
    },
  };
}

/** @throws Error without the text: it may contain a token. */
function parseTokens(text: string, path: string): Tokens {
  try {
    const { accessToken, refreshToken, expiresAt } = JSON.parse(text);
    const isTextOrNull = (value: unknown) => value === null || typeof value === 'string';
    if (typeof accessToken === 'string' && [refreshToken, expiresAt].every(isTextOrNull))
      return { accessToken, refreshToken, expiresAt };
  } catch {} // not JSON, or null
  throw new Error(
    `The file ${path} has no tokens: restore it, or remove it and log in with a new client secret.`,
  );
}

/** Returns undefined for an error with this code, and throws any other. */
function ignore(code: string): (error: unknown) => undefined {
  return (error) => {
    if (Object(error).code === code) return undefined;
    throw error;
  };
}
