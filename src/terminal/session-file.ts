import { mkdir, readdir, readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileTokens } from '../client/file-tokens.ts';
import { statusOf } from '../client/request.ts';
import type { TokenStore, Tokens } from '../client/session.ts';
import { ConfigError } from '../gateway/config/config-error.ts';
import { type Environment, toFileText, UTF_16 } from '../gateway/config/load.ts';
import { digest } from '../util/digest.ts';
import { memoizeByObject } from '../util/memoize.ts';
import type { CommandLine } from './command-line.ts';
import { LocalFailure, passingCode } from './local-failure.ts';
import type { OpenGateway } from './open-gateway.ts';
import type { CommandRuntime } from './runtime.ts';

/** A login that is kept in a file: see `fileTokens`. It names the client, and what it belongs to: also by a digest. */
export type SessionFile = {
  readonly path: string;
  readonly clientId: string;
  readonly tokens: Required<TokenStore>;
};

/** Nobody is logged in. The message says how to. */
export class NotLoggedIn extends Error {
  override readonly name = 'NotLoggedIn';
}

/** Characters in the name of a file. */
const DIGEST = 12;

/** What the file of a login has beside its tokens. Files of earlier versions lack `of` and `since`. */
type SavedSession = {
  readonly clientId?: unknown;
  readonly owner?: unknown;
  /** The URL of the service, or of the gateway. */
  readonly of?: unknown;
  /** The time of the first login. */
  readonly since?: unknown;
  readonly expiresAt?: unknown;
  readonly accessToken?: unknown;
  readonly refreshToken?: unknown;
};

/**
 * Opens the file of a login: that of `--session`, or of the client and the gateway. Without a client, it is that of the
 * only one that is logged in; with one it may be new.
 * @throws ConfigError if the tokens in it are those of another client, service or gateway, and NotLoggedIn if there is none.
 */
export async function openSessionFile(
  { environment, stderr, requests, now }: CommandRuntime,
  { session, gateway }: CommandLine,
  { of }: OpenGateway,
  client?: string,
): Promise<SessionFile> {
  const owner = ownerOf(of);
  const to = gateway ? ` --gateway ${gateway.href}` : '';
  const login = `keytrail login CLIENT_ID${to}`;
  const path =
    session ??
    (client === undefined
      ? await findFile(folderOf(environment), owner)
      : join(folderOf(environment), `${toFileName(client)}-${owner}.json`));
  if (path === undefined)
    throw new NotLoggedIn(`Nobody is logged in: run ${login}, or set KEYTRAIL_TOKEN.`);
  const read = await readIfThere(path);
  const isNew = client !== undefined && read === null;
  if (client === undefined && read === null && (await readIfThere(`${path}.lock`)) !== null)
    throw new LocalFailure(`There are no tokens in ${path} yet. ${describeLock(path)}`);
  const text = toFileText(read ?? '');
  if (text === null) throw new ConfigError([`${path} ${UTF_16}`]);
  const saved: SavedSession = isNew ? { clientId: client, owner } : parse(text);
  const { clientId } = saved;
  if (typeof clientId !== 'string')
    throw new ConfigError([`${path} is no session: run ${login} --session with a new file.`]);
  if (saved.owner !== owner || clientId !== (client ?? clientId))
    throw new ConfigError([
      `${path} is the session of another client, service or gateway: its tokens are not sent to this one.`,
    ]);
  requests.setCredential({
    ...{ kind: 'session', path },
    login: login.replace('CLIENT_ID', clientId),
    logout: `keytrail logout ${session === undefined ? clientId : `--session ${session}`} --force${to}`,
  });
  const onWarning = (message: string) => void stderr.write(`keytrail: ${message}\n`);
  const tokens = fileTokens(path, { onWarning });
  const { since = now().toISOString() } = saved;
  let unsaved: Tokens | null = null; // a command goes on with them, and the next renewal writes them again
  const withOwner = memoizeByObject((each: Tokens) => ({ ...each, clientId, owner, of, since }));
  return {
    ...{ path, clientId },
    tokens: {
      load: async () => {
        try {
          return await tokens.load();
        } catch (error) {
          return unsaved ?? toExpected(error);
        }
      },
      save: async (each) => {
        unsaved = null;
        try {
          await tokens.save(withOwner(each));
        } catch (error) {
          if (client !== undefined) throw error; // `login` has nothing else to do
          unsaved = each;
          onWarning(Object(error).message);
        }
      },
      lock: async (work) => {
        if (isNew) await mkdir(dirname(path), { recursive: true, mode: 0o700 }).catch(toExpected);
        return tokens.lock(work).catch(toExpected);
      },
    },
  };
}

/** Errors of the file say what to do. Those of a login, and bugs, stay what they are. */
export function toExpected(cause: unknown): never {
  const { name, message } = Object(cause);
  const code = passingCode(cause);
  if (code !== undefined)
    throw new LocalFailure(
      `The session cannot be used (${message}), and nothing was sent with it. Check the space on its disk, and that you may write to its folder.`,
      { cause },
    );
  const isOfFile = name === 'Error' && statusOf(cause) === undefined; // not a redirect of the gateway
  throw isOfFile ? new LocalFailure(message, { cause }) : cause;
}

/** Null if there is no such file. @throws LocalFailure or ConfigError if it cannot be read: what it says is not known then. */
async function readIfThere(path: string): Promise<string | null> {
  return readFile(path, 'utf8').catch((error) => ifMissing(error, path, null));
}

/** The names of the files in a folder; none if there is no such folder. @throws LocalFailure or ConfigError if it cannot be read. */
async function listFolder(path: string): Promise<readonly string[]> {
  return readdir(path).catch((error) => ifMissing(error, path, []));
}

function ifMissing<Value>(cause: unknown, path: string, value: Value): Value {
  const { code } = Object(cause);
  if (code === 'ENOENT') return value;
  const message = `The session ${path} cannot be read (${code}). Check that it is a file of yours in a folder of yours, or use another --session.`;
  throw passingCode(cause) === undefined
    ? new ConfigError([message])
    : new LocalFailure(message, { cause });
}

/** The names of sessions, also of those that have only the lock of a first login. */
function toSessions(names: readonly string[]): readonly string[] {
  const all = names.map((name) => name.replace(/\.lock$/, ''));
  return [...new Set(all.filter((name) => name.endsWith('.json')))].toSorted();
}

/** What the lock of a session means, and what to do. */
export const describeLock = (path: string): string =>
  `${path}.lock: a login is running, or the last one ended without a known result. If none is running, a file ${path}.ID may have newer tokens: move it to ${path}, and remove the lock. Without such a file, if the secret still works: keytrail logout --force --session ${path}, then log in.`;

/** The only session of a service. */
async function findFile(folder: string, owner: string): Promise<string | undefined> {
  const names = await listFolder(folder);
  const all = toSessions(names).filter((name) => name.endsWith(`-${owner}.json`));
  const files = all.filter((name) => names.includes(name));
  const own = files.length > 0 ? files : all; // the locks of first logins
  if (own.length < 2) return own[0] && join(folder, own[0]);
  const paths = own.map((name) => `--session ${join(folder, name)}`);
  throw new ConfigError([`There are several sessions. Use ${paths.join(', or ')}.`]);
}

function findFolder({ XDG_STATE_HOME, LOCALAPPDATA, HOME }: Environment): string | undefined {
  const state = XDG_STATE_HOME || LOCALAPPDATA || (HOME && join(HOME, '.local', 'state'));
  return state ? join(state, 'keytrail') : undefined;
}

function folderOf(environment: Environment): string {
  const folder = findFolder(environment);
  if (folder !== undefined) return folder;
  throw new ConfigError(['There is no folder for sessions: set HOME, or use --session FILE.']);
}

/** A name of a file has at most 255 bytes. */
function toFileName(clientId: string): string {
  const encoded = encodeURIComponent(clientId);
  return encoded.length > 200 ? digest(clientId) : encoded;
}

/** Identifies what a login belongs to in the name of its file. */
export const ownerOf = (of: string): string => digest(of, DIGEST);

/** A login in the folder of sessions. It has no token. */
export type ListedSession = {
  readonly clientId: string;
  /** The URL of the service or gateway; null in a file of an earlier version. */
  readonly of: string | null;
  /** When it was logged in first. */
  readonly since: string | null;
  /** When the access token expires. Null: it is used until it is refused. */
  readonly expiresAt: string | null;
  readonly hasRefreshToken: boolean;
  readonly file: string;
  /** False if there is only the lock of a first login, or if the file is damaged. */
  readonly hasTokens: boolean;
  /** Whether a process that logs in has the lock, or one has kept it. */
  readonly isLocked: boolean;
};

/**
 * Lists the logins that are kept: that of `--session`, or those in the folder of sessions.
 * @param of only those with this service or gateway.
 * @throws ConfigError if no folder is known, unless there is a token that needs none.
 */
export async function listSessions(
  { environment }: CommandRuntime,
  { session, hasToken = false }: Pick<CommandLine, 'session'> & { readonly hasToken?: boolean },
  of?: string,
): Promise<readonly ListedSession[]> {
  if (session === undefined && hasToken && findFolder(environment) === undefined) return [];
  const folder = session === undefined ? folderOf(environment) : dirname(session);
  const all = await listFolder(folder);
  const names = session === undefined ? toSessions(all) : [basename(session)];
  const sessions: ListedSession[] = [];
  for (const name of names) {
    const file = session ?? join(folder, name);
    const text = await readIfThere(file);
    const isLocked = all.includes(`${name}.lock`);
    if (text === null && !isLocked) continue;
    const content = parse(toFileText(text ?? '') ?? '');
    const hasTokens = [content.clientId, content.accessToken].every(
      (each) => typeof each === 'string',
    );
    if (session !== undefined && text !== null && !hasTokens)
      throw new ConfigError([`${file} is no session: check --session.`]);
    const named =
      session === undefined ? parseName(name) : { clientId: name, owner: of && ownerOf(of) };
    const saved = hasTokens ? content : named;
    const { clientId, owner } = saved;
    if (typeof clientId !== 'string' || clientId === '') continue;
    if (of !== undefined && owner !== ownerOf(of)) continue;
    const textOf = (value: unknown) => (typeof value === 'string' ? value : null);
    sessions.push({
      ...{ clientId, file, of: textOf(saved.of), since: textOf(saved.since) },
      ...{
        expiresAt: textOf(saved.expiresAt),
        hasRefreshToken: textOf(saved.refreshToken) !== null,
      },
      ...{ isLocked, hasTokens },
    });
  }
  return sessions;
}

/** What the name of a file says, if it has no tokens. */
function parseName(name: string): SavedSession {
  const [, client = '', owner] = /^(.*)-(.{12})\.json$/.exec(name) ?? [];
  try {
    return { clientId: decodeURIComponent(client), owner };
  } catch {
    return {};
  }
}

function parse(text: string): SavedSession {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}
