import { type RunningProcess, untilStopped } from '../../util/running-process.ts';
import { type SandboxOptions, startSandbox } from './server.ts';

/**
 * Runs only the sandbox service until the process should shut down, and says how to use it.
 * @throws Node's error if the port or the file cannot be opened.
 */
export async function runSandbox(
  runtime: Pick<RunningProcess, 'stderr' | 'stopping'>,
  options: SandboxOptions,
): Promise<void> {
  await using service = await startSandbox(options);
  // The gateway accepts plain http only to loopback.
  const loopbackUrl = service.url
    .replace('//0.0.0.0:', '//127.0.0.1:')
    .replace('//[::]:', '//[::1]:');
  const lines = [
    `Keytrail sandbox service, with ${options.recording === undefined ? 'fake' : 'recorded'} data: ${service.url}`,
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
