import { EVENT_FIELDS, usedPointers } from '../../inference/event-fields.ts';
import type { EventContract } from '../../mapping/contract.ts';
import type { AuditEvent } from '../../mapping/event.ts';
import { cut, type ShowValue } from '../show-value.ts';

/** Columns of the report, of the pointers at most, and of a value. */
const WIDTH = 100;
const MAX_POINTER = 44;
const VALUE = 24;

/**
 * Formats the values of the first records: a row per field of an event, with the pointer that it is read from. As many
 * records are shown as fit in 100 columns, three at most.
 */
export function formatTable(
  events: readonly AuditEvent[],
  contract: EventContract,
  showValue: ShowValue,
): readonly string[] {
  const records = events.map(({ raw }) => raw);
  const rows = EVENT_FIELDS.map(({ name, read, entryOf }) => {
    const pointers = usedPointers(entryOf(contract), records);
    const values = events.map(read);
    const cells = values.map((value) =>
      value === null ? '-' : showValue(pointers[0] ?? '', value, VALUE),
    );
    return {
      name,
      from: cut(pointers.join(', ') || '-', MAX_POINTER),
      cells,
    };
  });
  const nameWidth = Math.max(...rows.map(({ name }) => name.length));
  const fromWidth = Math.max('read from'.length, ...rows.map(({ from }) => from.length));
  const free = WIDTH - 2 - nameWidth - 2 - fromWidth;
  const shown = Math.min(3, events.length, Math.floor(free / (2 + VALUE)));
  const columns = Array.from({ length: shown }, (_, index) => `record ${index + 1}`);
  const lines = [
    { name: 'field', from: 'read from', cells: columns },
    ...rows.map((row) => ({ ...row, cells: row.cells.slice(0, shown) })),
  ];
  return lines.map(({ name, from, cells }) =>
    [
      `  ${name.padEnd(nameWidth)}`,
      from.padEnd(fromWidth),
      ...cells.map((cell) => cell.padEnd(VALUE)),
    ]
      .join('  ')
      .trimEnd(),
  );
}

/** Names the fields that have the same value in every one of several records; empty if there are none. */
export function describeConstants(events: readonly AuditEvent[]): readonly string[] {
  const constant = EVENT_FIELDS.filter(({ read }) => {
    const [first, ...others] = events.map(read);
    return first !== null && others.length > 0 && others.every((value) => value === first);
  });
  const names = constant.map(({ name }) => name).join(', ');
  return names === '' ? [] : [`  Check these, which are the same in every record: ${names}.`];
}
