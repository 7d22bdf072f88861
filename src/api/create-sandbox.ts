import { randomBytes } from 'node:crypto';
import { type Sandbox, type SandboxOptions, startSandbox } from '../sandbox/server.ts';

/**
 * Starts the sandbox: by default on a free loopback port, with its data in memory.
 * @throws Node's error if the port or the file cannot be opened.
 */
export function createSandbox({
  host = '127.0.0.1',
  port = 0,
  now = () => new Date(),
  createToken = () => randomBytes(32).toString('base64url'),
  ...rest
}: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  return startSandbox({ host, port, now, createToken, ...rest });
}
