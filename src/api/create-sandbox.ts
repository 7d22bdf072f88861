import { randomBytes } from 'node:crypto';
import { type Sandbox, type SandboxOptions, createSandbox as start } from '../sandbox/server.ts';

/**
 * Starts the sandbox service: on a free loopback port and in memory, unless the options say otherwise.
 * @throws what Node says when the port or the file cannot be had.
 */
export function createSandbox({
  host = '127.0.0.1',
  port = 0,
  file = ':memory:',
  now = () => new Date(),
  createToken = () => randomBytes(32).toString('base64url'),
  onRequest,
}: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  return start({ host, port, file, now, createToken, onRequest });
}
