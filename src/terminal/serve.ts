import { ConfigError } from '../gateway/config/config-error.ts';
import { loadSettings, nameAsGiven } from '../gateway/config/load.ts';
import type { CommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import type { Runtime, Servers } from './runtime.ts';

/**
 * Runs `keytrail serve`: the gateway, until the process should shut down.
 * @throws ConfigError for invalid settings, and Node's error if a port or a file cannot be opened.
 */
export async function serve(
  runtime: Runtime,
  commandLine: CommandLine,
  servers: Servers,
): Promise<void> {
  const settings = loadSettings({ ...runtime, ...commandLine, ...COMMANDS.serve });
  const { data: file, 'strict-login': strictLogin, flags } = commandLine;
  const forSandbox = [
    ...(file === undefined ? [] : ['--data']),
    ...(strictLogin ? ['--strict-login'] : []),
  ];
  if (settings.config.UPSTREAM_URL !== undefined && forSandbox.length > 0) {
    const upstreamUrl = nameAsGiven('UPSTREAM_URL', flags);
    throw new ConfigError(
      forSandbox.map((option) => `${option} is for the sandbox: remove it, or ${upstreamUrl}.`),
    );
  }
  await servers.serve(settings, { file, strictLogin });
}
