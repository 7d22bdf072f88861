import { version } from 'node:process';

/**
 * Before 24.16, and in 25, Node emits `close` only for the last of several pipelined responses: the others would leak.
 * Older ones also lack `node:sqlite` and `AsyncDisposableStack`.
 * @returns the sentence for a Node that cannot run Keytrail; null for one that can.
 */
export function describeUnsupportedNode(): string | null {
  const [major = 0, minor = 0] = version.slice(1).split('.').map(Number);
  const isSupported = major === 24 ? minor >= 16 : major >= 26;
  return isSupported ? null : `keytrail needs Node 24.16, 26 or later, and this is ${version}.`;
}

/** @throws Error if this Node cannot run Keytrail. It can import it, and use `keytrail/client`. */
export function requireSupportedNode(): void {
  const problem = describeUnsupportedNode();
  if (problem !== null) throw new Error(problem);
}
