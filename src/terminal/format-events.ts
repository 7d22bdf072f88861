import { isIP } from 'node:net';
import { styleText } from 'node:util';
import { escapeUnprintable } from '../util/escape-unprintable.ts';
import { type AuditEvent, EVENT_FIELD_NAMES, type KeyedEvent, readField } from './event-fields.ts';
import type { Output } from './output.ts';

/** A format of events. Every line ends with a line break. */
export type EventFormat = {
  /** The lines before the first event; empty for none. */
  readonly header: string;
  readonly format: (events: readonly KeyedEvent[]) => string;
  /** The fields for which a table has no room. It is known once events were formatted. */
  readonly leftOut?: () => readonly string[];
  /** The columns of a table that no event had a value for. */
  readonly empty?: () => readonly string[];
};

/** How to format events. */
export type FormatOptions = {
  readonly output: 'table' | 'ndjson' | 'csv' | 'ecs' | 'ocsf';
  /** Names of fields, see `EVENT_FIELD_NAMES`. Undefined: those that are usual. */
  readonly fields: readonly string[] | undefined;
  /** Whether to add the record of the service. */
  readonly withRaw: boolean;
  /** Whether the table has times of this machine's zone. */
  readonly isLocal: boolean;
};

/** Creates a format. */
export async function createFormat(options: FormatOptions, terminal: Output): Promise<EventFormat> {
  const { output, withRaw } = options;
  const own = options.fields ?? USUAL[output === 'table' ? 'table' : 'csv'];
  const fields = withRaw && !own.includes('raw') ? [...own, 'raw'] : own;
  switch (output) {
    case 'table':
      // Loading it takes 40 ms, mostly for a pattern of emoji.
      return createTable(fields, options, terminal, (await import('string-width')).default);
    case 'csv': {
      const { stringify } = await import('csv-stringify/sync');
      const toCsv = (rows: readonly (readonly (string | null)[])[]) =>
        stringify([...rows], CSV_OPTIONS);
      const show = terminal.isTerminal ? escapeUnprintable : (text: string) => text;
      const readCell = (event: KeyedEvent, name: string) => {
        const text = readText(event, name);
        return text === null ? null : show(text);
      };
      return {
        header: toCsv([fields]),
        format: (events) =>
          toCsv(events.map((event) => fields.map((name) => readCell(event, name)))),
      };
    }
    case 'ecs':
      return toLines((event) => toEcs(event, withRaw));
    case 'ocsf':
      return toLines((event) => toOcsf(event, withRaw));
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
  csv: [...EVENT_FIELD_NAMES.filter((name) => !/^(?:id|actor|target|raw)$/.test(name)), 'id'],
};

/** JSON has the same escapes, so that a terminal can show the lines. */
function toLines(toValue: (event: KeyedEvent) => unknown): EventFormat {
  return {
    header: '',
    format: (events) =>
      events.map((event) => `${escapeUnprintable(JSON.stringify(toValue(event)))}\n`).join(''),
  };
}

/** RFC 4180. Texts have quotes, so that a line break, a `;` or a tab ends no cell; a field without a value has none. */
const CSV_OPTIONS = {
  ...{ quoted_string: true, record_delimiter: 'windows' },
  cast: { string: (text: string): string => disarmFormulas(text) },
} as const;

/**
 * Where a cell begins that a spreadsheet would run: user agents are texts of strangers. It is the start of a text, or
 * follows a line break, a tab or a `;` at which a reader may split: Excel splits at `;` in many languages, and then
 * parses no quotes within a cell. Spaces, a byte order mark and quotes before a formula are skipped, as readers do.
 */
const FORMULA =
  /(?:^|[;\p{Cc}\p{Zl}\p{Zp}])(?=["\p{Zs}\p{Cf}]*[=+\-@\uff1d\uff0b\uff0d\uff20])|^(?=[\t\r])/gu;

/** `escape_formulas` of csv-stringify looks only at the first character of a text. */
const disarmFormulas = (text: string): string => text.replace(FORMULA, "$&'");

/** Null if the event has no value. */
function readText(event: KeyedEvent, name: string): string | null {
  const value = readField(event, name);
  return value === null || typeof value === 'string' ? value : JSON.stringify(value);
}

/**
 * An event as the Elastic Common Schema 8 has it. A field that is not known is absent. What has no field there, as the
 * target, is under `keytrail`.
 */
function toEcs({ key, raw, ...event }: KeyedEvent, withRaw: boolean): unknown {
  const { occurredAt, id, action, outcome, actor, target, ipAddress, userAgent, ...others } = event;
  const { identifier, name, ...ofActor }: Partial<Party> = actor ?? {};
  const { identifier: targetId, ...ofTarget }: Partial<Party> = target ?? {};
  return compact({
    '@timestamp': occurredAt,
    event: compact({
      ...{ kind: 'event', id, hash: key, action, outcome: outcome?.toLowerCase() },
      original: withRaw ? JSON.stringify(raw) : null,
    }),
    user: compact({ id: identifier, name }),
    source: compact({ address: ipAddress, ip: isAddress(ipAddress ?? '') ? ipAddress : null }),
    user_agent: compact({ original: userAgent }),
    keytrail: compact({
      ...others,
      actor: compact(ofActor),
      target: compact({ id: targetId, ...ofTarget }),
    }),
    ecs: { version: '8.17.0' },
  });
}

/**
 * An event of the class API Activity, with the activity Other, as the Open Cybersecurity Schema Framework 1 has it. What is
 * not known is absent, or Unknown (0).
 */
function toOcsf({ key, raw, ...event }: KeyedEvent, withRaw: boolean): unknown {
  const { occurredAt, id, action, outcome, actor, target, ipAddress, userAgent, ...others } = event;
  const { identifier, name, type, ...ofActor }: Partial<Party> = actor ?? {};
  const {
    identifier: uid,
    name: targetName,
    type: kind,
    ...ofTarget
  }: Partial<Party> = target ?? {};
  const resource = compact({ uid, name: targetName, type: kind });
  const time = Date.parse(occurredAt ?? '');
  return compact({
    ...{ category_uid: 6, class_uid: 6003, activity_id: 99, activity_name: action },
    ...{ type_uid: 600399, severity_id: 0, time: Number.isNaN(time) ? null : time },
    ...(outcome === 'SUCCESS' ? { status_id: 1, status: 'Success' } : {}),
    ...(outcome === 'FAILURE' ? { status_id: 2, status: 'Failure' } : {}),
    actor: compact({
      user: compact({ uid: identifier, name, type, type_id: type == null ? null : 99 }),
    }),
    api: compact({ operation: action }),
    src_endpoint: compact({ [isAddress(ipAddress ?? '') ? 'ip' : 'name']: ipAddress }),
    http_request: compact({ user_agent: userAgent }),
    resources: resource && [resource],
    metadata: compact({
      ...{ version: '1.6.0', product: { name: 'Keytrail', vendor_name: 'Keytrail' } },
      ...{ uid: key, original_event_uid: id, original_time: occurredAt },
    }),
    unmapped: compact({ ...others, actor: compact(ofActor), target: compact(ofTarget) }),
    raw_data: withRaw ? JSON.stringify(raw) : null,
  });
}

type Party = NonNullable<AuditEvent['actor']>;

/** Elasticsearch rejects an event whose `source.ip` is anything else, such as an address with a port or a zone. */
const isAddress = (text: string) => isIP(text) > 0 && !text.includes('%');

/** Removes members without a value, and objects without members. */
function compact(members: Readonly<Record<string, unknown>>): object | null {
  const entries = Object.entries(members).filter(([, value]) => value != null);
  return entries.length === 0 ? null : Object.fromEntries(entries);
}

/** Texts are not cut below these columns: rather is a field left out. A time has 20, or 25 with an offset. */
const LEAST: Readonly<Record<string, number>> = { time: 25, outcome: 7, ipAddress: 15 };
/** For other fields: the usual ones, and those that were asked for. */
const LEAST_OF_OTHERS = { usual: 12, own: 6 };
const GAP = '  ';

const COLORS: Readonly<Record<string, 'red' | 'green'>> = { FAILURE: 'red', SUCCESS: 'green' };

/** Without styleText's own check of process.stdout: the output has checked its stream. */
const ALWAYS = { validateStream: false } as const;

/** A table as wide as its texts, or as the terminal. Where a later page has longer texts, it becomes wider. */
function createTable(
  fields: readonly string[],
  { fields: own, isLocal }: FormatOptions,
  terminal: Output,
  widthOf: (text: string) => number,
): EventFormat {
  const { columns, hasColors } = terminal;
  const others = LEAST_OF_OTHERS[own === undefined ? 'usual' : 'own'];
  const leastOf = fields.map((name) => LEAST[name] ?? others);
  const segmenter = new Intl.Segmenter();
  const titles = fields.map((name) => name.toUpperCase());
  let natural = titles.map((title) => title.length);
  let least: readonly number[] | undefined; // from the first page on, so that all have the same fields
  let isFirst = true;
  const filled = new Set<string>();

  const readCell = (event: KeyedEvent, name: string) => {
    const value = readText(event, name);
    if (value) filled.add(name);
    const text = value || '-';
    if (name === 'time' && text !== '-') return showTime(text, isLocal);
    if (text.length <= 2 * columns) return escapeUnprintable(text);
    const start = text.slice(0, 2 * columns).replace(/[\ud800-\udbff\u200c\u200d]+$/, '');
    return `${escapeUnprintable(start)}…`;
  };
  /** Cuts or pads a text to a number of columns. */
  const toCell = (text: string, width: number) => {
    const free = width - widthOf(text);
    if (free >= 0) return text + ' '.repeat(free);
    let shown = '';
    let left = width - 1;
    for (const { segment } of segmenter.segment(text)) {
      const rest = left - widthOf(segment);
      if (rest < 0) break;
      shown += segment;
      left = rest;
    }
    return `${shown}…${' '.repeat(left)}`;
  };
  const formatRow = (
    cells: readonly string[],
    widths: readonly number[],
    paint: (cell: string, name?: string) => string,
  ) => {
    const fitted = widths.map((width, index) => toCell(cells[index] ?? '', width));
    const painted = fitted.map((cell, index) =>
      paint(index === widths.length - 1 ? cell.trimEnd() : cell, fields[index]),
    );
    return `${painted.join(GAP).trimEnd()}\n`;
  };

  return {
    header: '',
    leftOut: () => (least === undefined ? [] : fields.slice(least.length)),
    empty: () => fields.slice(0, least?.length ?? 0).filter((name) => !filled.has(name)),
    format: (events) => {
      const rows = events.map((event) => fields.map((name) => readCell(event, name)));
      natural = natural.map((width, index) =>
        rows.reduce((widest, row) => Math.max(widest, widthOf(row[index] ?? '')), width),
      );
      least ??= fitFields(natural, leastOf, columns);
      const widths = fitWidths(natural, least, columns);
      const header = isFirst
        ? formatRow(titles, widths, (cell) => (hasColors ? styleText('bold', cell, ALWAYS) : cell))
        : '';
      isFirst = false;
      const lines = rows.map((cells, index) => {
        const color = hasColors ? COLORS[events[index]?.outcome ?? ''] : undefined;
        return formatRow(cells, widths, (cell, name) =>
          name === 'outcome' && color ? styleText(color, cell, ALWAYS) : cell,
        );
      });
      return header + lines.join('');
    },
  };
}

const total = (widths: readonly number[]) =>
  widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));

/** The least widths of the fields that fit: the last are left out. */
function fitFields(
  natural: readonly number[],
  leastOf: readonly number[],
  columns: number,
): readonly number[] {
  const least = natural.map((width, index) => Math.min(width, leastOf[index] ?? 0, columns));
  let count = least.length;
  while (count > 1 && total(least.slice(0, count)) > columns) count -= 1;
  return least.slice(0, count);
}

/** The widths of these fields. The widest texts are cut first. */
function fitWidths(
  natural: readonly number[],
  least: readonly number[],
  columns: number,
): readonly number[] {
  const widths = natural.slice(0, least.length);
  for (let excess = total(widths) - columns; excess > 0; excess -= 1) {
    const cuttable = widths.map((width, index) => (width > (least[index] ?? 0) ? width : 0));
    const widest = cuttable.indexOf(Math.max(...cuttable));
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
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
