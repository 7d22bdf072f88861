import { styleText } from 'node:util';
import { stringify } from 'csv-stringify/sync';
import measure from 'fast-string-truncated-width';
import { escapeUnprintable } from '../util/escape-unprintable.ts';
import { type KeyedEvent, readField } from './event-fields.ts';
import type { Output } from './output.ts';

/** A format of events. Every line ends with a line break. */
export type EventFormat = {
  /** The lines before the first event; empty for none. */
  readonly header: string;
  readonly format: (events: readonly KeyedEvent[]) => string;
};

/** How to format events. */
export type FormatOptions = {
  readonly output: 'table' | 'ndjson' | 'csv' | 'ecs';
  /** Names of fields, see `EVENT_FIELD_NAMES`. Undefined: those that are usual. */
  readonly fields: readonly string[] | undefined;
  /** Whether to add the record of the service. */
  readonly withRaw: boolean;
  /** Whether the table has times of this machine's zone. */
  readonly isLocal: boolean;
};

/** Creates a format. */
export function createFormat(options: FormatOptions, terminal: Output): EventFormat {
  const { output, withRaw } = options;
  const own = options.fields ?? USUAL[output === 'table' ? 'table' : 'csv'];
  const fields = withRaw && !own.includes('raw') ? [...own, 'raw'] : own;
  switch (output) {
    case 'table':
      return createTable(fields, options.isLocal, terminal);
    case 'csv':
      return {
        header: toCsv([fields]),
        format: (events) =>
          toCsv(events.map((event) => fields.map((name) => readText(event, name)))),
      };
    case 'ecs':
      return toLines((event) => toEcs(event, withRaw));
    case 'ndjson':
      return toLines(
        options.fields === undefined
          ? ({ raw, ...event }) => (withRaw ? { ...event, raw } : event)
          : (event) => Object.fromEntries(fields.map((name) => [name, readField(event, name)])),
      );
  }
}

const USUAL = {
  table: ['time', 'outcome', 'actor', 'action', 'target', 'ipAddress'],
  csv: [
    ...['key', 'time', 'action', 'outcome', 'actor.identifier', 'actor.name', 'actor.type'],
    ...['target.identifier', 'target.name', 'target.type', 'ipAddress', 'userAgent', 'id'],
  ],
} as const;

function toLines(toValue: (event: KeyedEvent) => unknown): EventFormat {
  return {
    header: '',
    format: (events) => events.map((event) => `${JSON.stringify(toValue(event))}\n`).join(''),
  };
}

/** RFC 4180. A spreadsheet would run a text that begins with =, +, - or @, and user agents are texts of strangers. */
const toCsv = (rows: readonly (readonly string[])[]): string =>
  stringify([...rows], { escape_formulas: true, record_delimiter: 'windows' });

function readText(event: KeyedEvent, name: string): string {
  const value = readField(event, name);
  if (value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * An event as the Elastic Common Schema 8 has it. A field that is not known is absent. The target has no field there: it is
 * under `keytrail`.
 */
function toEcs(event: KeyedEvent, withRaw: boolean): unknown {
  const { occurredAt, id, key, action, outcome, actor, target, ipAddress, userAgent, raw } = event;
  return compact({
    '@timestamp': occurredAt,
    event: compact({
      ...{ kind: 'event', id, hash: key, action, outcome: outcome?.toLowerCase() },
      original: withRaw ? JSON.stringify(raw) : null,
    }),
    user: compact({ id: actor?.identifier, name: actor?.name }),
    source: compact({ ip: ipAddress }),
    user_agent: compact({ original: userAgent }),
    keytrail: compact({
      actor: compact({ type: actor?.type }),
      target: compact({ id: target?.identifier, name: target?.name, type: target?.type }),
    }),
    ecs: { version: '8.17.0' },
  });
}

/** Removes members without a value, and objects without members. */
function compact(members: Readonly<Record<string, unknown>>): object | null {
  const entries = Object.entries(members).filter(([, value]) => value != null);
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

/** Columns of fields whose length is known. Others share what is left. */
const WIDTHS: Readonly<Record<string, number>> = { time: 20, outcome: 7, ipAddress: 15 };
const LOCAL_TIME = 25;
const MIN_WIDTH = 6;
const GAP = '  ';

const COLORS: Readonly<Record<string, 'red' | 'green'>> = { FAILURE: 'red', SUCCESS: 'green' };

/** Without styleText's own check of process.stdout: the output has checked its stream. */
const ALWAYS = { validateStream: false } as const;

function createTable(fields: readonly string[], isLocal: boolean, terminal: Output): EventFormat {
  const widthOf = (name: string) => (name === 'time' && isLocal ? LOCAL_TIME : WIDTHS[name]);
  const fixed = fields.map(widthOf);
  const taken = fixed.reduce<number>((sum, width = 0) => sum + width, 0);
  const shared = terminal.columns - taken - GAP.length * (fields.length - 1);
  const flexible = fixed.filter((width) => width === undefined).length;
  const share = Math.max(MIN_WIDTH, Math.floor(shared / Math.max(1, flexible)));
  const formatRow = (texts: readonly string[], paint: (text: string, name: string) => string) =>
    `${fields
      .map((name, index) => {
        const cell = toCell(texts[index] ?? '', fixed[index] ?? share);
        return paint(index === fields.length - 1 ? cell.trimEnd() : cell, name);
      })
      .join(GAP)
      .trimEnd()}\n`;
  const { hasColors } = terminal;
  return {
    header: formatRow(
      fields.map((name) => name.toUpperCase()),
      (text) => (hasColors ? styleText('bold', text, ALWAYS) : text),
    ),
    format: (events) =>
      events
        .map((event) => {
          const color = COLORS[event.outcome ?? ''];
          return formatRow(
            fields.map((name) => {
              const text = readText(event, name);
              return name === 'time' && text !== '' ? showTime(text, isLocal) : text;
            }),
            (text, name) =>
              hasColors && name === 'outcome' && color ? styleText(color, text, ALWAYS) : text,
          );
        })
        .join(''),
  };
}

/** Escapes a text, and cuts or pads it to a number of columns. */
function toCell(text: string, limit: number): string {
  const escaped = escapeUnprintable(text.slice(0, 4 * limit).toWellFormed());
  const { index, width, ellipsed } = measure(escaped, { limit, ellipsis: '…' });
  const shown = ellipsed ? `${escaped.slice(0, index)}…` : escaped;
  return shown + ' '.repeat(Math.max(0, limit - width - (ellipsed ? 1 : 0)));
}

/** `2026-11-24 06:20:33Z`, or with the offset of this machine's zone. */
function showTime(instant: string, isLocal: boolean): string {
  if (!isLocal) return `${instant.slice(0, 19).replace('T', ' ')}Z`;
  const date = new Date(instant);
  const minutes = -date.getTimezoneOffset();
  const local = new Date(date.getTime() + minutes * 60_000).toISOString();
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  const offset = [hours, rest].map((part) => String(part).padStart(2, '0')).join(':');
  return `${local.slice(0, 19).replace('T', ' ')}${minutes < 0 ? '-' : '+'}${offset}`;
}
