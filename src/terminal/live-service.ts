import { connectToTrail } from '../gateway/api/read-trail.ts';
import { ConfigError } from '../gateway/config/config-error.ts';
import { loadSettings } from '../gateway/config/load.ts';
import { byOption } from '../gateway/config/settings.ts';
import { isBearerHeader } from '../util/bearer-token.ts';
import type { CommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import type { CommandRuntime } from './runtime.ts';
import { createServiceWait } from './wait-for-service.ts';

/**
 * Connects to the service that the settings of a command name, with the token in KEYTRAIL_TOKEN. Disposing the result
 * closes the connection.
 * @throws ConfigError for invalid settings, and without a URL and a well-formed token.
 */
export function connect(
  runtime: CommandRuntime,
  commandLine: CommandLine,
  command: 'learn' | 'record' | 'check',
) {
  const { config, tls, headers, contract } = loadSettings({
    ...runtime,
    ...commandLine,
    ...COMMANDS[command],
  });
  const token = runtime.environment['KEYTRAIL_TOKEN']?.trim() ?? ''; // of a file it has a line break at its end
  const authorization = `Bearer ${token}`;
  if (config.UPSTREAM_URL === undefined || !isBearerHeader(authorization)) {
    const other = command === 'learn' ? 'a saved response, as in --from response.json, or ' : '';
    throw new ConfigError([
      `${command} needs ${other}UPSTREAM_URL and an access token in the variable KEYTRAIL_TOKEN, without Bearer before it.`,
    ]);
  }
  const options = {
    ...{ ...byOption('upstream.', config), url: config.UPSTREAM_URL, tls, headers },
    now: () => runtime.now().getTime(),
    observer: { onAttempt: runtime.requests.onAttempt },
  };
  const trail = connectToTrail(options, authorization);
  const wait = createServiceWait(runtime, command);
  return {
    ...{ ...trail, contract },
    get: (path: Parameters<typeof trail.get>[0]) => wait.repeat(() => trail.get(path)),
    first: () => wait.repeat(() => trail.first()),
    /** What a recording must not contain. */
    credentials: [token, ...Object.values(headers)],
  };
}
