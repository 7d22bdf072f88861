import { randomBytes } from 'node:crypto';
import { requireSupportedNode } from '../gateway/api/node-version.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from './sandbox/server.ts';

/**
 * Starts the sandbox: by default on a free loopback port, with its data in memory.
 * @throws Node's error if the port or the file cannot be opened, TypeError for clients or events that are not valid, and
 * an Error on a Node that is too old.
 */
export async function createSandbox({
  host = '127.0.0.1',
  port = 0,
  now = () => new Date(),
  createToken = () => randomBytes(32).toString('base64url'),
  ...rest
}: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  requireSupportedNode();
  return await startSandbox({ host, port, now, createToken, ...rest });
}
