import { loadSettings } from '../gateway/config/load.ts';
import type { CommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { openRecording } from './open-recording.ts';
import { read } from './read-responses.ts';
import type { Runtime, Servers } from './runtime.ts';

/**
 * Runs `keytrail sandbox`: only the sandbox service, until the process should shut down.
 * @throws ConfigError for invalid settings and an invalid recording, and Node's error if the port or the file cannot be opened.
 */
export async function sandbox(
  runtime: Runtime,
  commandLine: CommandLine,
  servers: Servers,
): Promise<void> {
  const { config } = loadSettings({ ...runtime, ...commandLine, ...COMMANDS.sandbox });
  const { HOST: host, PORT: port } = config;
  const { data: file, 'strict-login': strictLogin, recording } = commandLine;
  if (recording !== undefined) openRecording(read(runtime, '--recording', recording), recording);
  await servers.runSandbox({ host, port, file, strictLogin, recording });
}
