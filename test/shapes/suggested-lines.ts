import { CHOSEN_ENTRIES, type ChosenEntry } from '../../src/gateway/inference/candidates.ts';
import { MODEL, type Model } from '../../src/gateway/inference/choose.ts';
import { inferEvent } from '../../src/gateway/inference/event.ts';
import { examineRecords } from '../../src/gateway/inference/record-fields.ts';
import { type EventContract, fillGaps } from '../../src/gateway/mapping/contract.ts';
import { AuditEvent, compileEventReaders } from '../../src/gateway/mapping/event.ts';
import { compilePointer } from '../../src/gateway/mapping/json-pointer.ts';
import { explainEntries } from '../../src/terminal/learn/explain-entries.ts';
import type { Suggestion } from '../../src/terminal/learn/suggest-fields.ts';
import { isProbable } from '../../src/terminal/learn/trail-report.ts';
import { FOLDS, trainWithoutVendors } from './evaluate.ts';
import { acceptedValues, LABELS, readEntry, type Sample, samplesOf } from './shapes.ts';
import { readAs, recordsOf } from './training.ts';

/** What the lines of `learn` are worth, for products of vendors that the weights have never seen. */
export type LineCounts = {
  /** Entries that are null in all records, although a field of the records has the right value. */
  nulls: number;
  /** Those for which there is a line. */
  withLine: number;
  /** Those whose first line is right. */
  firstRight: number;
  /** All values. */
  values: number;
  /** Those that are wrong once the first lines are added that do not say "perhaps", and were not before. */
  wrong: number;
  /** What has no line or a wrong one. */
  readonly misses: string[];
};

/** Measures the lines of `learn` in folds by vendor. */
export function measureLines(): LineCounts {
  const counts: LineCounts = {
    ...{ nulls: 0, withLine: 0, firstRight: 0, values: 0, wrong: 0 },
    misses: [],
  };
  for (const { left, weights } of trainWithoutVendors(samplesOf('audit'), { groups: FOLDS }))
    for (const sample of left) countLines(sample, { ...MODEL, weights }, counts);
  return counts;
}

function countLines(sample: Sample, model: Model, counts: LineCounts): void {
  const records = recordsOf(sample);
  const { fields } = examineRecords(records);
  const contract = inferEvent(records, model);
  const read = (with_: EventContract, index: number, entry: ChosenEntry) =>
    readEntry(new AuditEvent(records[index], compileEventReaders(with_)), entry);
  const readers = compileEventReaders(contract);
  const events = records.map((record) => new AuditEvent(record, readers));
  const explained = explainEntries(events, contract, {}, model);
  const firstOf = (entry: ChosenEntry) =>
    explained.find(({ name, why }) => name === entry && why !== undefined)?.suggestions[0];
  const withLine = (line: Suggestion, all = contract) =>
    fillGaps<EventContract>(line.contract, all);
  const labelled = [...sample.expect.values.keys()];
  for (const entry of CHOSEN_ENTRIES) {
    const accepted = (index: number) => acceptedValues(sample, LABELS[entry], index);
    const first = firstOf(entry);
    // A time in an assumed zone says so.
    const isFollowed =
      first !== undefined && isProbable(first) && !('zone' in Object(first.contract.occurredAt));
    counts.values += labelled.length;
    if (isFollowed)
      for (const index of labelled) {
        const value = read(withLine(first), index, entry);
        if (value === null || accepted(index).includes(value)) continue;
        counts.wrong += 1;
        counts.misses.push(`${sample.name} ${entry}: wrong by ${JSON.stringify(first.contract)}`);
      }
    const wanted = labelled.filter((index) => !accepted(index).includes(null));
    const isTold = wanted.some((index) =>
      fields.some(({ pointer }) =>
        accepted(index).includes(readAs(entry, compilePointer(pointer)(records[index]))),
      ),
    );
    if (!isTold || events.some((event) => readEntry(event, entry) !== null)) continue;
    counts.nulls += 1;
    counts.withLine += first === undefined ? 0 : 1;
    const right = first
      ? wanted.filter((index) => accepted(index).includes(read(withLine(first), index, entry)))
      : [];
    const isRight = 2 * right.length >= wanted.length;
    if (isRight) counts.firstRight += 1;
    else counts.misses.push(`${sample.name} ${entry}: ${JSON.stringify(first?.contract ?? null)}`);
  }
}
