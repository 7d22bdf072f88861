import { isUnauthenticated } from '../client/errors.ts';
import { connectToTrail } from '../gateway/api/read-trail.ts';
import { ConfigError } from '../gateway/config/config-error.ts';
import { loadSettings } from '../gateway/config/load.ts';
import { byOption } from '../gateway/config/settings.ts';
import type { CommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { openSession } from './open-session.ts';
import type { CommandRuntime } from './runtime.ts';
import { createServiceWait } from './wait-for-service.ts';

/**
 * Connects to the service that the settings of a command name, with the session of {@link openSession}. A token that the
 * service rejects is renewed once for each request. Disposing the result closes the connections.
 * @throws ConfigError for invalid settings, without a URL and for a token that is not well-formed; NotLoggedIn without a login.
 */
export async function connect(
  runtime: CommandRuntime,
  commandLine: CommandLine,
  command: 'learn' | 'record' | 'check',
) {
  const { config, tls, headers, contract } = loadSettings({
    ...runtime,
    ...commandLine,
    ...COMMANDS[command],
  });
  if (config.UPSTREAM_URL === undefined) {
    const other = command === 'learn' ? 'a saved response, as in --from response.json, or ' : '';
    throw new ConfigError([
      `${command} needs ${other}UPSTREAM_URL, and a login (keytrail login) or KEYTRAIL_TOKEN.`,
    ]);
  }
  await using stack = new AsyncDisposableStack();
  const session = stack.use(await openSession(runtime, commandLine, command));
  const before = await session.load();
  const options = {
    ...{ ...byOption('upstream.', config), url: config.UPSTREAM_URL, tls, headers },
    now: () => runtime.now().getTime(),
    observer: { onAttempt: runtime.requests.onAttempt },
  };
  const used: string[] = []; // the last one is the current one
  const trail = stack.use(connectToTrail(options, () => `Bearer ${used.at(-1)}`));
  const authorize = async (rejected?: string) => {
    const token = await session.token(rejected);
    if (!used.includes(token)) used.push(token);
  };
  const wait = createServiceWait(runtime, command);
  const request = <Value>(send: () => Promise<Value>) =>
    wait.repeat(async () => {
      if (used.length === 0) await authorize();
      return send().catch(async (error) => {
        if (!isUnauthenticated(error)) throw error;
        await authorize(used.at(-1));
        return send();
      });
    });
  const kept = stack.move();
  return {
    ...{ url: trail.url, contract },
    get: (path: Parameters<typeof trail.get>[0]) => request(() => trail.get(path)),
    first: () => request(() => trail.first()),
    /** What a recording must not contain. */
    credentials: async (): Promise<readonly string[]> => {
      const saved = [before, await session.load()].flatMap((tokens) => [
        ...[tokens?.accessToken, tokens?.refreshToken].filter((token) => token != null),
      ]);
      return [...used, ...saved, ...Object.values(headers)];
    },
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  };
}
