import type { RankedField } from '../../gateway/inference/choose-entry.ts';
import { EVENT_ENTRIES, usedPointers } from '../../gateway/inference/event-entries.ts';
import { roundConfidence } from '../../gateway/inference/reasons.ts';
import type { EventContract, Source } from '../../gateway/mapping/contract.ts';
import type { AuditEvent } from '../../gateway/mapping/event.ts';
import { escapeUnprintable } from '../../util/escape-unprintable.ts';
import { WIDTH, wrap } from '../../util/wrap.ts';
import { cut, type ShowValue } from '../show-value.ts';
import type { ExplainedEntry } from './explain-entries.ts';

/** Of a line to copy, and of lines that continue another. */
const INDENT = '    ';

/** Columns for pointers at most, and for a value. */
const MAX_POINTER = 44;
const VALUE = 24;

/** Suggestions per entry. */
const MAX_SUGGESTIONS = 3;

/** In fewer columns than this, what a line reads is in the next line. */
const MIN_DESCRIPTION = 22;

/** A contract to add. */
export type ReadyLine = {
  readonly contract: object;
  /** Describes what it reads in a number of columns. */
  readonly describe: (width: number) => string;
};

/** Formats a sentence in lines of at most 100 columns. */
export function formatSentence(text: string, indent = INDENT): readonly string[] {
  return wrap(escapeUnprintable(text), indent);
}

/** Formats how certain a choice is. Only what is read by a contract is entirely certain. */
export function formatConfidence({ confidence }: Pick<RankedField, 'confidence'>): string {
  return Math.min(roundConfidence(confidence), 0.99).toFixed(2);
}

/** Formats where an entry is read from. */
export function formatSource(source: Source): string {
  if (typeof source === 'object' && source !== null && 'header' in source)
    return `header ${source.header}`;
  return source === null ? '-' : [source].flat().join(', ') || 'the body';
}

/**
 * Formats the best three lines. Each is a complete contract, so that it can be copied. What it reads follows: in the same line if
 * it fits in 100 columns, else in the next one.
 */
export function formatReadyLines(all: readonly ReadyLine[]): readonly string[] {
  const lines = all.slice(0, MAX_SUGGESTIONS);
  const texts = lines.map(({ contract }) => formatContract(contract));
  const maxLength = WIDTH - INDENT.length - 2 - MIN_DESCRIPTION;
  const column = Math.max(0, ...texts.map(({ length }) => (length > maxLength ? 0 : length)));
  return lines.flatMap(({ describe }, index) => {
    const line = `${INDENT}${texts[index]?.padEnd(column)}`;
    const isShort = line.length <= INDENT.length + column;
    const start = isShort ? `${line}  ` : `${INDENT}  `;
    const width = WIDTH - start.length;
    return [...(isShort ? [] : [line]), start + cut(describe(width), width)];
  });
}

/** JSON in one line, with spaces. Texts of the service are escaped, as JSON allows. */
export function formatContract(contract: unknown): string {
  const inOneLine = JSON.stringify(contract, null, 1)
    .replace(/(?<=[[{])\n *|\n *(?=[\]}])/g, '')
    .replace(/\n */g, ' ');
  return escapeUnprintable(inOneLine);
}

/**
 * Formats the values of the first records: a row per field of an event, with the pointers that it is read from, and the
 * confidence of inference in the first. As many records are shown as fit in 100 columns, three at most.
 */
export function formatTable(
  events: readonly AuditEvent[],
  contract: EventContract,
  entries: readonly ExplainedEntry[],
  show: ShowValue,
): readonly string[] {
  const records = events.map(({ raw }) => raw);
  const chosenOf = new Map(entries.map(({ name, chosen }) => [name, chosen]));
  const rows = EVENT_ENTRIES.map(({ name, read, entryOf }) => {
    const pointers = usedPointers(entryOf(contract), records);
    const cells = events.slice(0, 3).map((event) => {
      const value = read(event);
      return value === null ? '-' : show(pointers[0] ?? '', value, VALUE);
    });
    const first = chosenOf.get(name)?.find(({ pointer }) => pointer === pointers[0]);
    const certain = first === undefined ? '-' : formatConfidence(first);
    return [name, cut(pointers.join(', also ') || '-', MAX_POINTER), certain, ...cells];
  });
  const lines = [['field', 'read from', 'certain', 'record 1', 'record 2', 'record 3'], ...rows];
  const widths = [0, 1, 2].map((column) =>
    Math.max(...lines.map((cells) => cells[column]?.length ?? 0)),
  );
  const taken = widths.reduce((sum, width) => sum + width + 2, 0);
  const fitting = Math.floor((WIDTH - taken) / (2 + VALUE));
  widths.push(...Array<number>(Math.min(3, events.length, fitting)).fill(VALUE));
  return lines.map((cells) =>
    `  ${widths.map((width, column) => cells[column]?.padEnd(width)).join('  ')}`.trimEnd(),
  );
}
