import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileTokens } from '../client/file-tokens.ts';
import { ConfigError } from '../gateway/config/config-error.ts';
import { loadSettings } from '../gateway/config/load.ts';
import { escapeUnprintable } from '../util/escape-unprintable.ts';
import { wrap } from '../util/wrap.ts';
import type { CommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { endpointOf } from './open-gateway.ts';
import type { CommandRuntime } from './runtime.ts';
import { type ListedSession, listSessions, NotLoggedIn, toExpected } from './session-file.ts';

/**
 * Runs `keytrail logout`: removes the file of a login, and tokens beside it. A lock that stayed is removed with `--force` only.
 * @throws ConfigError if several logins are meant, and NotLoggedIn if none is.
 */
export async function logout(runtime: CommandRuntime, commandLine: CommandLine): Promise<number> {
  const { config } = loadSettings({ ...runtime, ...commandLine, ...COMMANDS.logout });
  const { gateway, force, operands } = commandLine;
  const [clientId] = operands;
  const of = gateway === undefined ? config.UPSTREAM_URL?.href : endpointOf(gateway);
  const listed = await listSessions(runtime, commandLine, of);
  // The lock of a first login, which is all that `--session` may have, names no client.
  const isUnnamed = ({ hasTokens }: ListedSession) =>
    clientId === undefined || (commandLine.session !== undefined && !hasTokens);
  const meant = listed.filter((each) => isUnnamed(each) || each.clientId === clientId);
  const [session, ...others] = meant;
  if (session === undefined) {
    const who = clientId === undefined ? 'Nobody is' : `${clientId} is not`;
    throw new NotLoggedIn(
      `${who} logged in${of === undefined ? '' : ` to ${of}`}: keytrail status lists all logins.`,
    );
  }
  if (others.length > 0) {
    const files = meant.map(({ file }) => `--session ${file}`);
    throw new ConfigError([`There are several sessions. Use ${files.join(', or ')}.`]);
  }
  const { file } = session;
  if (force) await rm(`${file}.lock`, { force: true }).catch(toExpected);
  const ofFile = `${basename(file)}.`;
  const isKept = (name: string) =>
    name.startsWith(ofFile) && /^[\da-f-]{36}$/.test(name.slice(ofFile.length));
  const remove = async () => {
    const kept = (await readdir(dirname(file))).filter(isKept); // see fileTokens
    for (const name of [basename(file), ...kept])
      await rm(join(dirname(file), name), { force: true });
  };
  const onWarning = (message: string) => void runtime.stderr.write(`keytrail: ${message}\n`);
  await fileTokens(file, { onWarning }).lock(remove).catch(toExpected);
  const done = `Logged out ${escapeUnprintable(session.clientId)}: ${file} is removed. The service has no route that ends a token, so its tokens are valid until they expire.`;
  runtime.stderr.write(`${wrap(done, '  ').join('\n')}\n`);
  return 0;
}
