import { readFile } from 'node:fs/promises';

const LISTENING = '0A';

/**
 * How many TCP sockets of this machine, held by some process, have a port at their own or their other end; listening
 * ones do not count. From /proc, so on Linux only.
 */
export async function countSockets(end: 'own' | 'other', port: number): Promise<number> {
  const [, ...lines] = (await readFile('/proc/net/tcp', 'utf8')).trimEnd().split('\n');
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return lines.filter((line) => {
    const [, own, other, state, , , , , , inode] = line.trim().split(/\s+/);
    const address = end === 'own' ? own : other;
    return address?.endsWith(suffix) && state !== LISTENING && inode !== '0'; // 0: closed, and waiting for the peer
  }).length;
}
