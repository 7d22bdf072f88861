import { pino } from 'pino';
import type { Config } from '../config/load.ts';
import type { GatewayLog } from '../observability/observer.ts';
import { formatLogLine } from './format-log-line.ts';
import type { ServerProcess } from './server-process.ts';

/** Bytes of the log that may wait for the process that reads it. */
const MAX_QUEUED_BYTES = 2 ** 23;

/**
 * Creates a log on stdout: JSON lines, in a terminal one line of text per record. All lines of one event-loop iteration
 * are serialized and written at once: with 10 lines half the CPU time, with 50 a third. Lines are dropped while more than
 * 8 MiB wait: the process that reads them has stopped, and the memory of this one must not grow. The next line says so.
 */
export function createLogger(
  { stdout, environment, now }: Pick<ServerProcess, 'stdout' | 'environment' | 'now'>,
  { LOG_LEVEL: level }: Pick<Config, 'LOG_LEVEL'>,
): GatewayLog {
  let entries: (readonly [keyof GatewayLog, object, string])[] = [];
  let dropped = 0;
  let lines = '';
  let timestamp = '';
  const write = (line: string) => {
    lines += line;
  };
  const logger = pino({ level, base: null, timestamp: () => timestamp }, { write });
  const isColored = stdout.hasColors?.(environment) ?? false;
  const flush = () => {
    const batch = entries;
    entries = [];
    if ((stdout.writableLength ?? 0) > MAX_QUEUED_BYTES) {
      dropped += batch.length;
      return;
    }
    if (dropped > 0) batch.unshift(['warn', {}, describeDropped(dropped)]);
    dropped = 0;
    lines = '';
    const time = now();
    timestamp = `,"time":"${time.toISOString()}"`;
    for (const [level, record, message] of batch) {
      if (stdout.isTTY) write(`${formatLogLine({ time, level, record, message }, isColored)}\n`);
      else logger[level](record, message);
    }
    if (lines !== '') stdout.write(lines);
  };
  const log = (level: keyof GatewayLog) => (record: object, message: string) => {
    if (!logger.isLevelEnabled(level)) return;
    if (entries.push([level, record, message]) === 1) setImmediate(flush);
  };
  return { info: log('info'), warn: log('warn'), error: log('error') };
}

function describeDropped(count: number): string {
  return `${count} log lines were dropped: the process that reads the log had stopped`;
}
