import { loadSettings } from '../config/files.ts';
import { createSandbox, type Sandbox } from '../sandbox/server.ts';
import type { CommandLine } from './command-line.ts';
import { type Runtime, untilStopped } from './runtime.ts';

/**
 * Runs the sandbox alone until the process is asked to stop.
 * @throws ConfigError for wrong settings, and what Node says when the port or the file cannot be had.
 */
export async function sandbox(host: Runtime, commandLine: CommandLine): Promise<void> {
  // What production asks for concerns the gateway.
  const environment = {
    ...host.environment,
    PORT: host.environment['PORT'] || '4001',
    NODE_ENV: undefined,
  };
  const { config } = loadSettings({ ...host, environment }, commandLine);
  await using service = await startSandbox(host, {
    host: config.HOST,
    port: config.PORT,
    file: commandLine.data,
  });
  // The gateway takes plain http to loopback only.
  const onLoopback = service.url
    .replace('//0.0.0.0:', '//127.0.0.1:')
    .replace('//[::]:', '//[::1]:');
  const lines = [
    `Keytrail's sandbox service, with made-up data: ${service.url}`,
    '',
    '  POST   /api/v1/auth/login            {"client_id", "client_secret"} first, then {"client_id", "refresh_token"}',
    '  GET    /api/v1/audit',
    '  DELETE /api/v1/secrets/{client_id}',
    '',
    ...service.clients.map(({ clientId, secret }) => `  ${clientId.padEnd(14)} ${secret}`),
    '',
    `  The gateway over it: UPSTREAM_URL=${onLoopback} npm start`,
  ];
  host.stderr.write(`${lines.join('\n')}\n\n`);
  await untilStopped(host);
}

/** Starts a sandbox with the process's clock and randomness. */
export function startSandbox(
  { now, createToken }: Runtime,
  {
    host,
    port,
    file = ':memory:',
  }: { readonly host: string; readonly port: number; readonly file: string | undefined },
): Promise<Sandbox> {
  return createSandbox({ host, port, file, now, createToken });
}
