import { type Logger, pino } from 'pino';
import type { Config } from '../config.ts';
import type { Host } from './host.ts';

/** A log on stdout: JSON lines; for a terminal, lines for people. */
export async function createLog(
  { stdout, now }: Pick<Host, 'stdout' | 'now'>,
  { LOG_LEVEL: level, WORKERS }: Pick<Config, 'LOG_LEVEL' | 'WORKERS'>,
): Promise<Logger> {
  const options = { level, base: null, timestamp: () => `,"time":"${now().toISOString()}"` };
  if (!stdout.isTTY) return pino(options, WORKERS === 1 ? stdout : oneByOne(stdout));
  const { default: pretty } = await import('pino-pretty');
  return pino(options, pretty({ singleLine: true, sync: true }));
}

/**
 * Node hands on together whatever waits for a slow reader, and of so much a pipe may take a part: a line of another
 * process then stands in the middle of one of these. A single line it takes whole (POSIX, write, PIPE_BUF).
 */
function oneByOne(stdout: Host['stdout']) {
  let written = Promise.resolve();
  const write = (line: string) => new Promise<void>((done) => stdout.write(line, () => done()));
  return {
    write: (line: string) => {
      written = written.then(() => write(line));
    },
  };
}
