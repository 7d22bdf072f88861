import { isObject } from '../../mapping/values.ts';
import { escapeUnprintable } from '../../util/escape-unprintable.ts';
import { type ShowValue, showLength } from '../show-value.ts';

/** Columns of the report, and those before a ready line. */
const WIDTH = 100;
const INDENT = '    ';

/** In fewer columns than this, a value is in the next line. */
const MIN_VALUE = 16;
const MAX_LENGTH = WIDTH - INDENT.length - 2 - MIN_VALUE;

/** A contract to add, with what it reads. */
export type ReadyLine = {
  readonly contract: object;
  /** Pointers with an example of a value each. */
  readonly examples?: readonly { readonly pointer: string; readonly value: unknown }[];
  readonly note?: string;
};

/**
 * Formats lines that are a complete contract each, so that they can be copied. Example values follow: in the same line if
 * they fit in 100 columns, else in the next one.
 */
export function formatReadyLines(
  lines: readonly ReadyLine[],
  showValue: ShowValue = showLength,
): readonly string[] {
  const texts = lines.map(({ contract }) => formatContract(contract));
  const lengths = texts.map((text) => text.length);
  const column = Math.max(0, ...lengths.filter((length) => length <= MAX_LENGTH));
  return lines.flatMap(({ examples = [], note = '' }, index) => {
    const text = texts[index] ?? '';
    const isShort = text.length <= column;
    const start = isShort ? `${INDENT}${text.padEnd(column)}  ` : `${INDENT}  `;
    const width = WIDTH - start.length;
    const values = examples.map(({ pointer, value }) => showValue(pointer, value, width));
    const shown = [...values, escapeUnprintable(note)].filter((one) => one !== '').join(', ');
    const cutShown = shown.length > width ? `${shown.slice(0, width - 1).toWellFormed()}…` : shown;
    if (shown === '') return [`${INDENT}${text}`];
    return isShort ? [start + cutShown] : [`${INDENT}${text}`, start + cutShown];
  });
}

/** JSON in one line, with spaces. Texts of the service are escaped, as JSON allows. */
export function formatContract(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(formatContract).join(', ')}]`;
  if (!isObject(value)) return escapeUnprintable(JSON.stringify(value));
  const members = Object.entries(value).map(
    ([key, member]) => `${escapeUnprintable(JSON.stringify(key))}: ${formatContract(member)}`,
  );
  return `{${members.join(', ')}}`;
}
