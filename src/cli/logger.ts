import { type LoggerOptions, pino } from 'pino';
import type { Config } from '../config/load.ts';
import type { GatewayLog } from '../observability/observer.ts';
import type { Runtime } from './runtime.ts';

/** Creates a log on stdout: JSON lines, one batch per event-loop iteration; on a terminal readable lines, at once. */
export async function createLogger(
  { stdout, now }: Pick<Runtime, 'stdout' | 'now'>,
  { LOG_LEVEL: level }: Pick<Config, 'LOG_LEVEL'>,
): Promise<GatewayLog> {
  const options = { level, base: null };
  const timestamp = () => `,"time":"${now().toISOString()}"`;
  if (!stdout.isTTY) return createBatchLogger(options, timestamp, stdout);
  const { default: pretty } = await import('pino-pretty');
  const log: GatewayLog = pino({ ...options, timestamp }, pretty({ singleLine: true, sync: true }));
  return log;
}

/** Serializes and writes all lines of one event-loop iteration at once: with 10 lines half the CPU time, with 50 a third. */
function createBatchLogger(
  options: LoggerOptions,
  timestamp: () => string,
  stdout: Runtime['stdout'],
): GatewayLog {
  let entries: (readonly [keyof GatewayLog, object, string])[] = [];
  let lines = '';
  let time = '';
  const write = (line: string) => {
    lines += line;
  };
  const logger = pino({ ...options, timestamp: () => time }, { write });
  const flush = () => {
    time = timestamp();
    for (const [level, record, message] of entries) logger[level](record, message);
    entries = [];
    if (lines !== '') stdout.write(lines);
    lines = '';
  };
  const log = (level: keyof GatewayLog) => (record: object, message: string) => {
    if (entries.push([level, record, message]) === 1) setImmediate(flush);
  };
  return { info: log('info'), warn: log('warn'), error: log('error') };
}
