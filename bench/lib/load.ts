import { setTimeout as wait } from 'node:timers/promises';

const TICK_MS = 5;

/**
 * Sends so many requests a second until the signal is aborted, whatever becomes of those before (an open loop), and
 * waits until all have ended. What was missed because this process was late is sent at once. Gives by how many
 * milliseconds it was late at most: times that were measured meanwhile can be wrong by as much.
 */
export async function load(
  rate: number,
  until: AbortSignal,
  send: (number: number) => Promise<void>,
): Promise<number> {
  const underWay = new Set<Promise<void>>();
  const begun = performance.now();
  let sent = 0;
  let lookedAt = begun;
  let late = 0;
  while (!until.aborted) {
    const now = performance.now();
    late = Math.max(late, now - lookedAt - TICK_MS);
    lookedAt = now;
    for (; sent < ((now - begun) / 1000) * rate; sent += 1) {
      const sending = send(sent);
      underWay.add(sending);
      void sending.finally(() => underWay.delete(sending));
    }
    await wait(TICK_MS);
  }
  await Promise.all(underWay);
  return late;
}
