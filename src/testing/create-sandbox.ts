import { randomBytes } from 'node:crypto';
import { requireSupportedNode } from '../gateway/api/node-version.ts';
import { type NamesOf, rejectUnknownNames } from './sandbox/known-names.ts';
import { type Sandbox, type SandboxOptions, startSandbox } from './sandbox/server.ts';

/** The names of the options. */
const OPTIONS: NamesOf<SandboxOptions> = {
  host: true,
  port: true,
  recording: true,
  onRequest: true,
  file: true,
  now: true,
  createToken: true,
  strictLogin: true,
  clients: true,
  events: true,
};

/**
 * Starts the sandbox: by default on a free loopback port, with its data in memory.
 * @throws Node's error if the port or the file cannot be opened, TypeError for options, clients or events that are not
 * valid, and an Error on a Node that is too old.
 */
export async function createSandbox(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  requireSupportedNode();
  rejectUnknownNames(options, OPTIONS, 'an option of a sandbox');
  const {
    host = '127.0.0.1',
    port = 0,
    now = () => new Date(),
    createToken = () => randomBytes(32).toString('base64url'),
    ...rest
  } = options;
  return await startSandbox({ host, port, now, createToken, ...rest });
}
