import { randomUUID } from 'node:crypto';
import { open, readFile, rename, rm, stat } from 'node:fs/promises';
import { platform } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { repeatWhileBusy, WITHOUT_FSYNC } from './busy-file.ts';
import type { TokenStore, Tokens } from './session.ts';

/** The options of {@link fileTokens}. */
export type FileTokensOptions = {
  /** Called if other users can read the file of tokens, and if a file cannot be removed. Default: `process.emitWarning`. */
  readonly onWarning?: ((message: string) => void) | undefined;
};

/**
 * A process that has kept the lock for this time, in milliseconds, was killed during a login, or does not know how it
 * went. The lock stays: the refresh token may be used up, so that no other process may try it.
 */
const MAX_LOCK_MS = 60_000;

/**
 * Keeps the tokens of a session in a file that only its owner can read. Several processes can share it: the one that has
 * the lock, `<path>.lock`, logs in, and the others use its tokens. The lock stays if the new tokens cannot be written,
 * and after SessionLost. Tokens that cannot be moved to the file stay in one beside it.
 */
export function fileTokens(
  path: string,
  // biome-ignore lint/style/noRestrictedGlobals: a library has no main.ts that could pass it in; `onWarning` replaces it
  { onWarning = (message) => process.emitWarning(message) }: FileTokensOptions = {},
): Required<TokenStore> {
  const lock = `${path}.lock`;
  let own: string | undefined; // the content of our lock
  let unsaved: Tokens | null = null;
  let kept: { readonly file: string; readonly tokens: Tokens } | undefined; // what could not be moved to `path`
  let written: Tokens | null = null;
  let lost: unknown; // the SessionLost of the login for which our lock is kept
  let last: Promise<unknown> = Promise.resolve();

  const isOurs = async () =>
    own !== undefined && (await readFile(lock, 'utf8').catch(ignore('ENOENT'))) === own;

  const create = async () => {
    const file = await open(lock, 'wx').catch(ignore('EEXIST'));
    if (file === undefined) return false;
    const id = randomUUID();
    try {
      await file.writeFile(id);
    } catch (error) {
      await rm(lock, { force: true }); // the disk is full: nothing was sent yet
      throw error;
    } finally {
      await file.close();
    }
    own = id;
    return true;
  };

  const acquire = async () => {
    while (!(await create())) {
      const held = await stat(lock).catch(ignore('ENOENT'));
      if (held && Math.abs(Date.now() - held.mtimeMs) >= MAX_LOCK_MS)
        throw new Error(toAdvice(path)); // or of the future
      await wait(50);
    }
  };

  const remove = (file: string) =>
    repeatWhileBusy(() => rm(file, { force: true })).catch(({ code }) =>
      onWarning(`${file} could not be removed (${code}): remove it.`),
    );

  const write = async (tokens: Tokens) => {
    const next = `${path}.${randomUUID()}`;
    let isWritten = false;
    try {
      const file = await open(next, 'wx', 0o600);
      try {
        await file.writeFile(JSON.stringify(tokens));
        isWritten = true;
        await file.sync().catch(ignore(...WITHOUT_FSYNC));
      } finally {
        await file.close();
      }
      await repeatWhileBusy(() => rename(next, path));
    } catch (cause) {
      const isNew = isWritten && kept?.tokens !== tokens; // otherwise the message has named the file that is kept
      const useless = isNew ? kept?.file : next;
      if (isNew) kept = { file: next, tokens };
      if (useless !== undefined) await remove(useless);
      throw new Error(toUnwritten(path, kept?.tokens === tokens ? kept.file : null, cause), {
        cause,
      });
    }
  };

  const save = async (tokens: Tokens) => {
    if (tokens === written) return; // by `load` of another session, which may have newer ones by now
    unsaved = tokens;
    // Someone may have moved what was kept, as the message says: newer tokens may have replaced it since.
    const isMoved = kept?.tokens === tokens && !(await stat(kept.file).catch(ignore('ENOENT')));
    if (!isMoved) await write(tokens);
    if (kept) await remove(kept.file);
    kept = undefined;
    unsaved = null;
    written = tokens;
  };

  /** Runs `work` with the lock, or with one that an earlier call has kept. */
  const withLock = async <Value>(work: () => Promise<Value>): Promise<Value> => {
    if (!(await isOurs())) {
      lost = undefined; // someone has checked the credential, and removed the lock
      await acquire();
    }
    if (lost !== undefined) throw lost;
    try {
      return await work();
    } catch (error) {
      if (Object(error).name === 'SessionLost') lost = error; // no instanceof: bundles may have two such classes
      throw error;
    } finally {
      // Another process could create a lock between these two: only if someone removes ours in this very moment.
      if (unsaved === null && lost === undefined && (await isOurs())) await remove(lock);
    }
  };

  return {
    load: async () => {
      if (unsaved !== null) await save(unsaved);
      const text = await readFile(path, 'utf8').catch(ignore('ENOENT'));
      if (text === undefined) return null;
      const { mode } = await stat(path);
      if (platform() !== 'win32' && (mode & 0o077) !== 0)
        onWarning(`Other users can use the tokens in ${path}: run chmod 600 ${path}.`);
      return parseTokens(text, path);
    },
    save,
    lock: (work) => {
      const result = last.then(() => withLock(work));
      last = result.catch(() => {});
      return result;
    },
  };
}

const toUnwritten = (path: string, kept: string | null, cause: unknown) => {
  const [where, next] = kept
    ? [`They were written to ${kept}.`, `move that file to ${path}, then remove ${path}.lock.`]
    : [
        'The credential of that login is used up.',
        'remove both files and log in with a new client secret.',
      ];
  return `The tokens of a login could not be written to ${path} (${Object(cause).code}), so ${path}.lock stays. ${where} The next request of this process writes them again. If the process has ended, ${next}`;
};

const toAdvice = (path: string) =>
  `The last login ended without a known result: it has kept ${path}.lock. Check whether the saved credential is used up. If there is a file ${path}.ID, it may have newer tokens: move it to ${path}. Then remove ${path}.lock. Without such a file, log in again.`;

/** @throws Error without the text: it may contain a token. */
function parseTokens(text: string, path: string): Tokens {
  try {
    const { accessToken, refreshToken, expiresAt } = JSON.parse(text.trim()); // without a byte order mark
    const isTextOrNull = (value: unknown) => value === null || typeof value === 'string';
    if (typeof accessToken === 'string' && [refreshToken, expiresAt].every(isTextOrNull))
      return { accessToken, refreshToken, expiresAt };
  } catch {} // not JSON, or null
  throw new Error(
    `The file ${path} has no tokens: restore it, or remove it and log in with a new client secret.`,
  );
}

/** Returns undefined for an error with one of these codes, and throws any other. */
function ignore(...codes: readonly unknown[]): (error: unknown) => undefined {
  return (error) => {
    if (codes.includes(Object(error).code)) return undefined;
    throw error;
  };
}
