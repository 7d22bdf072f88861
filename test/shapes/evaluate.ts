import { CHOSEN_ENTRIES, type Weights } from '../../src/inference/choose.ts';
import { inferEvent } from '../../src/inference/event.ts';
import { AuditEvent, compileEventReaders } from '../../src/mapping/event.ts';
import { memberAt } from '../../src/mapping/read-entry.ts';
import { acceptedValues, type Sample } from './shapes.ts';
import { LABELS, listExamples, recordsOf, train } from './training.ts';

/** How the values of an entry were read at a threshold. */
export type Count = { right: number; wrong: number; of: number };

/** Counts per threshold and entry. */
export type Evaluation = ReadonlyMap<string, Count>;

export const THRESHOLDS = [0.5, 0.7, 0.9];

/** Reads every sample with weights that were trained without its vendor: in groups of vendors, or one by one. */
export function leaveVendorsOut(
  samples: readonly Sample[],
  groups: number,
  onMiss: (line: string) => void = () => undefined,
): Evaluation {
  const vendors = [...new Set(samples.map(({ vendor }) => vendor))].sort();
  const examples = samples.flatMap(listExamples);
  const counts = new Map<string, Count>();
  for (let group = 0; group < Math.min(groups, vendors.length); group += 1) {
    const left = new Set(vendors.filter((_, index) => index % groups === group));
    const weights = train(examples.filter(({ vendor }) => !left.has(vendor)));
    const table = new Map(Object.entries(weights));
    for (const sample of samples.filter(({ vendor }) => left.has(vendor)))
      count(sample, table, counts, onMiss);
  }
  return counts;
}

/** Reads a sample, and counts its values. */
function count(
  sample: Sample,
  weights: Weights,
  counts: Map<string, Count>,
  onMiss: (line: string) => void,
): void {
  const records = recordsOf(sample);
  const { level, values } = sample.expect;
  for (const certain of THRESHOLDS) {
    const readers = compileEventReaders(inferEvent(records, { weights, certain }));
    for (const index of values.keys()) {
      const event = new AuditEvent(records[index], readers);
      for (const entry of CHOSEN_ENTRIES) {
        const accepted = acceptedValues(sample, LABELS[entry], index);
        const got = memberAt(event, entry) ?? null;
        const isRight = accepted.includes(got);
        for (const key of [`${certain} ${entry}`, `${certain} ${level}`, `${certain} all`]) {
          const one = counts.get(key) ?? { right: 0, wrong: 0, of: 0 };
          counts.set(key, one);
          one.of += 1;
          if (isRight) one.right += 1;
          else if (got !== null) one.wrong += 1;
        }
        if (!isRight && certain === 0.7)
          onMiss(
            `${got === null ? 'null' : 'wrong'} ${sample.name} ${entry}: ${String(got)}, not ${accepted.join(' or ')}`,
          );
      }
    }
  }
}
