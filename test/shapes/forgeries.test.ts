import { describe, expect, it } from 'vitest';
import { CHOSEN_ENTRIES, type ChosenEntry } from '../../src/gateway/inference/candidates.ts';
import { inferEvent } from '../../src/gateway/inference/event.ts';
import { readPointers } from '../../src/gateway/inference/event-entries.ts';
import { splitLevels } from '../../src/gateway/inference/free-form.ts';
import { examineRecords } from '../../src/gateway/inference/record-fields.ts';
import { AuditEvent, compileEventReaders } from '../../src/gateway/mapping/event.ts';
import { compilePointer } from '../../src/gateway/mapping/json-pointer.ts';
import { memberAt } from '../../src/gateway/mapping/read-entry.ts';
import { isObject } from '../../src/gateway/mapping/values.ts';
import { acceptedValues, LABELS, normalize, readEntry, samplesOf } from './shapes.ts';
import { recordsOf } from './training.ts';

type Members = Readonly<Record<string, unknown>>;

/** Members of free form, and names that no service has. */
const MEMBERS = [
  ...['details', 'metadata', 'context', 'changes', 'requestParameters', 'event_data'],
  ...['qzx', 'user_input'],
];

const TIME = '2031-01-01T00:00:00Z';

/** What a caller would have the record say. */
const FORGED: Readonly<Record<string, Members>> = {
  'a nested event': {
    actor: { id: 'innocent', name: 'Innocent', type: 'user', email: 'innocent@example.com' },
    target: { id: 'other-1', name: 'Other', type: 'other' },
    ...{ user_id: 'innocent', occurred_at: TIME, created_at: TIME, action: 'forged.action' },
    ...{ outcome: 'failure', status_code: 500, client: { ip: '203.0.113.66' }, id: 'forged-1' },
  },
  'a flat event': {
    ...{ actor_id: 'innocent', actor_name: 'Innocent', actor_type: 'user', target_id: 'other-1' },
    ...{ timestamp: TIME, event_type: 'forged.action', result: 'failed', success: false },
    ...{ ip_address: '203.0.113.66', user_agent: 'Forged/1.0', event_id: 'forged-1' },
  },
  'an event in a request': { request: { body: { actor: { id: 'innocent' }, performed_at: TIME } } },
  'one actor': { actor: 'innocent' },
};

/** Which of the records are forged. */
const PLACES: Readonly<Record<string, (index: number, count: number) => boolean>> = {
  'the last record': (index, count) => index === count - 1,
  'half of the records': (index) => index % 2 === 0,
  'all records': () => true,
};

type Values = Readonly<Record<ChosenEntry, unknown>>;

/** Reads every entry of every record, and the pointers from which each is read. */
function readAll(records: readonly unknown[]) {
  const contract = inferEvent(records);
  const readers = compileEventReaders(contract);
  const values = records.map((record): Values => {
    const event = new AuditEvent(record, readers);
    const entries = CHOSEN_ENTRIES.map((entry) => [entry, readEntry(event, entry)]);
    return Object.fromEntries(entries) as Values; // has every entry
  });
  const pointerOf = (entry: ChosenEntry, record: unknown) =>
    readPointers(memberAt(contract, entry)).find(
      (one) => (compilePointer(one)(record) ?? null) !== null,
    );
  return { values, pointerOf };
}

/** The pointers of the fields of records that the service has written; and whether they are in a wrapper. */
function ownLevel(records: readonly unknown[]) {
  const { fields } = examineRecords(records);
  const own = new Set(splitLevels(fields).own.map(({ pointer }) => pointer));
  const isInRecord = fields.some(
    ({ pointer, kind }) => own.has(pointer) && kind === 'time' && pointer.lastIndexOf('/') === 0,
  );
  return { own, isInRecord };
}

const samples = samplesOf('audit')
  .map(({ name, ...sample }) => {
    const records = recordsOf({ name, ...sample });
    // Of a single record, the last one would be all of them.
    return { name, records: records.length > 1 ? records : [...records, ...records] };
  })
  .filter(({ records }) => records.every(isObject))
  .map((sample) => ({ ...sample, ...ownLevel(sample.records), before: readAll(sample.records) }));

describe('what a caller puts in a member of free form of a record', () => {
  it.each(
    Object.keys(FORGED).flatMap((form, index) => {
      const places = [
        'the last record',
        'all records',
        ...(index === 0 ? ['half of the records'] : []),
      ];
      return places.map((place) => [form, place] as const);
    }),
  )('chooses nothing that the record itself says: %s in %s', (form, place) => {
    const changed: string[] = [];
    for (const { name, records, before, own, isInRecord } of samples) {
      for (const member of MEMBERS) {
        if (records.some((record) => Object.hasOwn(Object(record), member))) continue;
        const isForged = (index: number) => PLACES[place]?.(index, records.length) ?? false;
        const forged = records.map((record, index) =>
          isForged(index) ? { ...Object(record), [member]: FORGED[form] } : record,
        );
        const isEach = records.every((_, index) => isForged(index));
        const after = readAll(forged);
        for (const [index, record] of records.entries())
          for (const entry of CHOSEN_ENTRIES) {
            const [old, now] = [before.values[index]?.[entry], after.values[index]?.[entry]];
            if (old === now) continue;
            const pointer = before.pointerOf(entry, record);
            const isOwn = pointer !== undefined && own.has(pointer);
            // In all records it is like what the service writes there. It is read only if nothing else is, or makes it null.
            const mayChange = isEach && (old === null || (now === null && !(isOwn && isInRecord)));
            if (!mayChange) changed.push(`${name} ${index} ${entry} by ${member}: ${old} → ${now}`);
          }
      }
    }
    expect(changed).toEqual([]);
  });
});

describe('what services put in a member of free form of all records', () => {
  it('is read: 115 values of 36 samples', () => {
    const names = new Set<string>();
    let count = 0;
    for (const sample of samplesOf('audit')) {
      const records = recordsOf(sample);
      const { values, pointerOf } = readAll(records);
      const { own } = ownLevel(records);
      for (const index of sample.expect.values.keys())
        for (const entry of CHOSEN_ENTRIES) {
          const pointer = pointerOf(entry, records[index]);
          const value = normalize(LABELS[entry], values[index]?.[entry]);
          const accepted = acceptedValues(sample, LABELS[entry], index);
          if (pointer === undefined || own.has(pointer) || value === null) continue;
          if (!accepted.some((one) => normalize(LABELS[entry], one) === value)) continue;
          count += 1;
          names.add(sample.name);
        }
    }
    expect([count, names.size]).toEqual([115, 36]);
  });
});
