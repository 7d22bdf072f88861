import { loadSettings } from '../config/load.ts';
import { startSandbox } from '../sandbox/server.ts';
import type { CommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { openRecording } from './open-recording.ts';
import { read } from './read-responses.ts';
import { type Runtime, untilStopped } from './runtime.ts';

/**
 * Runs only the sandbox service until the process should shut down.
 * @throws ConfigError for invalid settings and an invalid recording, and Node's error if the port or the file cannot be opened.
 */
export async function sandbox(runtime: Runtime, commandLine: CommandLine): Promise<void> {
  const { config } = loadSettings({ ...runtime, ...commandLine, ...COMMANDS.sandbox });
  const { HOST: host, PORT: port } = config;
  const { data: file, 'strict-login': strictLogin, recording } = commandLine;
  if (recording !== undefined) openRecording(read(runtime, '--recording', recording), recording);
  const options = { ...runtime, host, port, file, strictLogin, recording };
  await using service = await startSandbox(options);
  // The gateway accepts plain http only to loopback.
  const loopbackUrl = service.url
    .replace('//0.0.0.0:', '//127.0.0.1:')
    .replace('//[::]:', '//[::1]:');
  const lines = [
    `Keytrail sandbox service, with ${recording === undefined ? 'fake' : 'recorded'} data: ${service.url}`,
    '',
    '  POST   /api/v1/auth/login            {"client_id", "client_secret"} first, then {"client_id", "refresh_token"}',
    '  GET    /api/v1/audit',
    '  DELETE /api/v1/secrets/{client_id}',
    '',
    ...service.clients.map(({ clientId, secret }) => `  ${clientId.padEnd(14)} ${secret}`),
    '',
    `  Start a gateway for it: UPSTREAM_URL=${loopbackUrl} npm start`,
  ];
  runtime.stderr.write(`${lines.join('\n')}\n\n`);
  await untilStopped(runtime);
}
