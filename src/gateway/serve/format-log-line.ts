import { styleText } from 'node:util';
import type { GatewayLog } from '../observability/observer.ts';

/** A record of the log with its time, level and message. */
export type LogEntry = {
  readonly time: Date;
  readonly level: keyof GatewayLog;
  readonly record: object;
  readonly message: string;
};

/** Columns of a line, and of its parts. */
const LINE = 100;
const TIME = 8;
const LEVEL = 5;
const OPERATION = 22; // `mutation deleteApiKey` has 21
const STATUS = 3;
const DURATION = 10; // `99999.9 ms`
const SHORT_ID = 8;
const CLIENT_ID = 20;

const COLORS = { info: 'green', warn: 'yellow', error: 'red' } as const;

/**
 * Formats a record for a terminal: one line of at most 100 columns, without control characters but those of a colour.
 * Only the stack of a bug follows in indented lines, for a bug report. The time is local, as on the clock of the person
 * at the terminal; JSON lines, which are compared across machines, have UTC.
 */
export function formatLogLine(entry: LogEntry, isColored: boolean): string {
  const { time, level, record, message } = entry;
  const { at, requestId, durationMs, ...fields }: Fields = { ...record };
  const text = message === 'request' ? describeRequest(fields) : describeEvent(message, fields);
  const end = requestId === undefined ? '' : describeEnd(durationMs, requestId);
  const columns = LINE - TIME - 1 - LEVEL - 1 - end.length;
  const name = level.toUpperCase();
  const line = [
    time.toTimeString().slice(0, TIME),
    (isColored ? styleText(COLORS[level], name, ALWAYS) : name) + ' '.repeat(LEVEL - name.length),
    cut(text, columns).padEnd(columns) + end,
  ];
  const frames = toText(at).split(' < ').filter(Boolean);
  return [line.join(' ').trimEnd(), ...frames.map(indent)].join('\n');
}

type Fields = Readonly<Record<string, unknown>>;

/** Without styleText's own check of process.stdout: the logger has checked its stream. */
const ALWAYS = { validateStream: false } as const;

function describeRequest(fields: Fields): string {
  const { operation, fields: names, method, route, status, aborted, codes, reason, cause } = fields;
  const subject = joinWords(operation === undefined ? [method, route] : [operation, names]);
  return [
    cut(subject, OPERATION).padEnd(OPERATION),
    toText(status).padStart(STATUS),
    joinWords([aborted === true ? 'ABORTED' : '', codes, reason, cause]),
  ].join(' ');
}

/** The message and the values of the record, as in `bug: TypeError`. Entries of an object have their names. */
function describeEvent(message: string, fields: Fields): string {
  const details = Object.values(fields).flatMap((value) =>
    typeof value === 'object' && value !== null ? Object.entries(value).map(joinWords) : [value],
  );
  const list = details.map(toText).filter(Boolean).join(', ');
  return toText(message) + (list && `: ${list}`);
}

function describeEnd(durationMs: unknown, requestId: unknown): string {
  const duration = typeof durationMs === 'number' ? `${durationMs.toFixed(1)} ms` : '';
  const id = toText(requestId);
  // The start of our own IDs, which are random UUIDs, identifies a request. Those of a client may have a common start.
  const isOwn = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(id);
  const short = isOwn ? id.slice(0, SHORT_ID) : cut(id, CLIENT_ID);
  return ` ${cut(duration, DURATION).padStart(DURATION)} ${short.padEnd(SHORT_ID)}`;
}

function joinWords(words: readonly unknown[]): string {
  return words.map(toText).filter(Boolean).join(' ');
}

/** One column per character: characters other than printable ASCII may be wider, or control the terminal. */
function toText(value: unknown): string {
  const isText = typeof value === 'string' || typeof value === 'number';
  return isText ? String(value).replace(/[^\x20-\x7e]/gu, '?') : '';
}

function cut(text: string, columns: number): string {
  return text.length > columns ? `${text.slice(0, columns - 1)}…` : text;
}

const INDENT = '    ';

/** Cuts a stack frame at its start: the file and the line are at its end. */
function indent(frame: string): string {
  const columns = LINE - INDENT.length;
  return INDENT + (frame.length > columns ? `…${frame.slice(1 - columns)}` : frame);
}
