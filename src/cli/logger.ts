import { type LoggerOptions, pino } from 'pino';
import type { Config } from '../config/load.ts';
import type { GatewayLog } from '../observability/observer.ts';
import type { Runtime } from './runtime.ts';

/** A log on stdout: JSON lines, soon; for a terminal, lines for people, at once. */
export async function createLogger(
  { stdout, now }: Pick<Runtime, 'stdout' | 'now'>,
  { LOG_LEVEL: level }: Pick<Config, 'LOG_LEVEL'>,
): Promise<GatewayLog> {
  const options = { level, base: null };
  const stamp = () => `,"time":"${now().toISOString()}"`;
  if (!stdout.isTTY) return byTurns(options, stamp, stdout);
  const { default: pretty } = await import('pino-pretty');
  const log: GatewayLog = pino(
    { ...options, timestamp: stamp },
    pretty({ singleLine: true, sync: true }),
  );
  return log;
}

/** What a pipe takes whole (POSIX, write, PIPE_BUF): of more, a line of another process may stand in the middle. */
const MAX_BYTES = 4096;

/**
 * Makes and writes the lines of one turn of the event loop together, which takes a fraction of the time that each by
 * itself takes; one write after the other.
 */
function byTurns(
  options: LoggerOptions,
  stamp: () => string,
  stdout: Runtime['stdout'],
): GatewayLog {
  const batches: string[] = [];
  let bytes = 0; // of the last batch
  let time = '';
  const write = (line: string) => {
    const length = Buffer.byteLength(line);
    bytes += length;
    const batch = bytes > MAX_BYTES ? undefined : batches.pop();
    if (batch === undefined) bytes = length;
    batches.push((batch ?? '') + line);
  };
  const logger = pino({ ...options, timestamp: () => time }, { write });
  let entries: (readonly [keyof GatewayLog, object, string])[] = [];
  let isWriting = false;
  const writeOn = () => {
    const batch = batches.shift();
    isWriting = batch !== undefined;
    if (batch !== undefined) stdout.write(batch, writeOn);
  };
  const turn = () => {
    time = stamp();
    for (const [level, record, message] of entries) logger[level](record, message);
    entries = [];
    if (!isWriting) writeOn();
  };
  const log = (level: keyof GatewayLog) => (record: object, message: string) => {
    if (entries.push([level, record, message]) === 1) setImmediate(turn);
  };
  return { info: log('info'), warn: log('warn'), error: log('error') };
}
