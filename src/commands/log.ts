import { type Logger, pino } from 'pino';
import type { Host } from './host.ts';

/** A log on stdout, from a level of pino's on: JSON lines; for a terminal, lines for people. */
export async function createLog({ stdout, now }: Host, level: string): Promise<Logger> {
  const options = { level, base: null, timestamp: () => `,"time":"${now().toISOString()}"` };
  if (!stdout.isTTY) return pino(options, stdout);
  const { default: pretty } = await import('pino-pretty');
  return pino(options, pretty({ singleLine: true, sync: true }));
}
