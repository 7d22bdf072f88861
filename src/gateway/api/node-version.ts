import { version } from 'node:process';

/**
 * Before 24.16, and in 25, Node emits `close` only for the last of several pipelined responses: on a port, the others
 * would leak.
 * @returns what a Node that cannot serve a port lacks; null for one that can.
 */
export function describeUnsupportedServer(): string | null {
  const [major, minor] = parseVersion();
  const isSupported = major === 24 ? minor >= 16 : major >= 26;
  return isSupported ? null : `needs Node 24.16, 26 or later, and this is ${version}.`;
}

/**
 * 22.19 is what undici needs.
 * @throws Error if this Node cannot run a gateway. It can import it, and use `keytrail/client`.
 */
export function requireSupportedNode(): void {
  const [major, minor] = parseVersion();
  if (major < 22 || (major === 22 && minor < 19))
    throw new Error(`keytrail needs Node 22.19 or later, and this is ${version}.`);
}

function parseVersion(): readonly [major: number, minor: number] {
  const [major = 0, minor = 0] = version.slice(1).split('.').map(Number);
  return [major, minor];
}
