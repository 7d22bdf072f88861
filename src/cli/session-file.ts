import { mkdir, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OperationError } from '../client/errors.ts';
import { fileTokens } from '../client/file-tokens.ts';
import type { TokenStore, Tokens } from '../client/session.ts';
import { ConfigError } from '../config/config-error.ts';
import type { Environment } from '../config/load.ts';
import { quote } from '../config/value-types.ts';
import { digest } from '../util/digest.ts';
import { memoizeByObject } from '../util/memoize.ts';
import type { CommandLine } from './command-line.ts';
import type { OpenGateway } from './open-gateway.ts';
import type { Runtime } from './runtime.ts';

/** A login that is kept in a file: see `fileTokens`. It names the client, and what it belongs to by a digest. */
export type SessionFile = {
  readonly path: string;
  readonly clientId: string;
  readonly tokens: Required<TokenStore>;
};

/** Of the name of a file. */
const DIGEST = 12;

/** Opens the file of a client, which `login` writes. It creates the folder. */
export async function createSessionFile(
  { environment, stderr }: Runtime,
  { session }: CommandLine,
  { of }: OpenGateway,
  clientId: string,
): Promise<SessionFile> {
  const owner = digest(of, DIGEST);
  const path = session ?? join(folderOf(environment), `${toFileName(clientId)}-${owner}.json`);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  return { path, clientId, tokens: openTokens(path, { clientId, owner }, stderr) };
}

/**
 * Opens the file of the client that is logged in.
 * @throws ConfigError if there is none, or more than one; OperationError UNAUTHENTICATED once its tokens are used up.
 */
export async function openSessionFile(
  { environment, stderr }: Runtime,
  { session, gateway }: CommandLine,
  { of }: OpenGateway,
): Promise<SessionFile> {
  const owner = digest(of, DIGEST);
  const path = session ?? (await findFile(folderOf(environment), owner));
  const login = `keytrail login CLIENT_ID${gateway ? ` --gateway ${gateway.href}` : ''}`;
  if (path === undefined)
    throw new ConfigError([`Nobody is logged in: run ${login}, or set KEYTRAIL_TOKEN.`]);
  const content = parse(await readFile(path, 'utf8').catch(() => ''));
  if (typeof content.clientId !== 'string')
    throw new ConfigError([
      `--session ${quote(path)} is no session: run ${login} --session with this file.`,
    ]);
  if (content.owner !== owner)
    throw new ConfigError([
      `--session ${quote(path)} is of another service or gateway: its tokens are not sent to this one.`,
    ]);
  const { clientId } = content;
  const tokens = openTokens(path, { clientId, owner }, stderr);
  let used: string | undefined;
  const load = async (): Promise<Tokens | null> => {
    const saved = await tokens.load();
    if (saved?.refreshToken === null && saved.accessToken === used)
      throw new OperationError({
        message: `The login of ${clientId} has ended, and it has no refresh token: run ${login}.`,
        extensions: { code: 'UNAUTHENTICATED' },
      });
    used = saved?.accessToken;
    return saved;
  };
  return { path, clientId, tokens: { ...tokens, load } };
}

function openTokens(path: string, owner: object, stderr: Runtime['stderr']): Required<TokenStore> {
  const onWarning = (message: string) => void stderr.write(`keytrail: ${message}\n`);
  const tokens = fileTokens(path, { onWarning });
  const withOwner = memoizeByObject((saved: Tokens) => ({ ...saved, ...owner }));
  return { ...tokens, save: (saved) => tokens.save(withOwner(saved)) };
}

/** The only session of a service. */
async function findFile(folder: string, owner: string): Promise<string | undefined> {
  const names = await readdir(folder).catch(() => []);
  const paths = names
    .filter((name) => name.endsWith(`-${owner}.json`))
    .map((name) => join(folder, name));
  if (paths.length < 2) return paths[0];
  throw new ConfigError([
    `Several clients are logged in: name one with --session: ${paths.map(quote).join(' or ')}.`,
  ]);
}

function folderOf({ XDG_STATE_HOME, LOCALAPPDATA, HOME }: Environment): string {
  const state = XDG_STATE_HOME || LOCALAPPDATA || (HOME && join(HOME, '.local', 'state'));
  if (!state)
    throw new ConfigError([
      'There is no folder for sessions: set HOME, or name a file with --session.',
    ]);
  return join(state, 'keytrail');
}

/** A name of a file has at most 255 bytes. */
function toFileName(clientId: string): string {
  const encoded = encodeURIComponent(clientId);
  return encoded.length > 200 ? digest(clientId) : encoded;
}

function parse(text: string): { readonly clientId?: unknown; readonly owner?: unknown } {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}
