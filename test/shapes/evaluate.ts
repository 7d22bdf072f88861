import { CHOSEN_ENTRIES } from '../../src/gateway/inference/candidates.ts';
import { MODEL, type Model } from '../../src/gateway/inference/choose.ts';
import { inferEvent } from '../../src/gateway/inference/event.ts';
import { readPointers } from '../../src/gateway/inference/event-entries.ts';
import { AuditEvent, compileEventReaders } from '../../src/gateway/mapping/event.ts';
import { memberAt } from '../../src/gateway/mapping/read-entry.ts';
import { acceptedValues, LABELS, readEntry, type Sample, type Score, samplesOf } from './shapes.ts';
import { levelOf, type Measurement, type Sum, sumOf, Tally } from './table.ts';
import { type Example, listExamples, recordsOf, train, type WeightTable } from './training.ts';

/** Confidences from which on a field is read. The one that Keytrail uses is `MODEL.certain`. */
const THRESHOLDS = [0.5, 0.7, 0.9];

type Options = {
  /** The vendors are left out in this many groups. */
  readonly groups?: number;
  readonly thresholds?: readonly number[];
  /** What is learned from a sample. */
  readonly learn?: (sample: Sample) => readonly Example[];
  readonly onGroup?: (group: number, groups: number) => void;
};

/**
 * Reads every sample with weights that were trained without its vendor, as if nobody had seen its product. The kind of a
 * score is the threshold.
 */
export function leaveVendorsOut(samples: readonly Sample[], options: Options = {}): Measurement {
  const { thresholds = THRESHOLDS } = options;
  const tally = new Tally();
  for (const { left, weights } of trainWithoutVendors(samples, options))
    for (const sample of left)
      for (const certain of thresholds) readSample(sample, { weights, certain }, tally);
  return tally.measurement;
}

/** Yields the samples of each group of vendors, and the weights that were trained on all others. */
export function* trainWithoutVendors(samples: readonly Sample[], options: Options) {
  const vendors = [...new Set(samples.map(({ vendor }) => vendor))].sort();
  const { groups = vendors.length, learn = listExamples } = options;
  const examples = samples.flatMap(learn);
  for (let group = 0; group < groups; group += 1) {
    const without = new Set(vendors.filter((_, index) => index % groups === group));
    const weights = toMap(train(examples.filter(({ vendor }) => !without.has(vendor))));
    yield { left: samples.filter(({ vendor }) => without.has(vendor)), weights };
    options.onGroup?.(group + 1, groups);
  }
}

/** Reads samples with the weights that Keytrail uses. */
export function readWithModel(samples: readonly Sample[]): Measurement {
  const tally = new Tally();
  for (const sample of samples) readSample(sample, MODEL, tally);
  return tally.measurement;
}

/** Groups of vendors of which each is left out once. */
export const FOLDS = 10;

/** The usual values that are read in folds by vendor: none has a vendor of another one. */
export function measureFolds(): Sum {
  const { scores } = leaveVendorsOut(samplesOf('audit'), {
    ...{ groups: FOLDS, thresholds: [MODEL.certain] },
  });
  return sumOf(scores.filter(({ level }) => level.startsWith('usual')));
}

function readSample(sample: Sample, model: Model, tally: Tally): void {
  const add = tally.of(String(model.certain), levelOf(sample), sample.name);
  const records = recordsOf(sample);
  const readers = compileEventReaders(inferEvent(records, model));
  for (const index of sample.expect.values.keys()) {
    const event = new AuditEvent(records[index], readers);
    for (const entry of CHOSEN_ENTRIES)
      add(entry, readEntry(event, entry), acceptedValues(sample, LABELS[entry], index));
  }
}

/** Sums scores by threshold: at different levels, then by entry. */
export function summarize(scores: readonly Score[]): readonly Score[] {
  const levels = { all: /./, verified: /^\w+$/, usual: /^usual$/, unusual: /^unusual$/ };
  return [...Map.groupBy(scores, ({ kind }) => kind)].flatMap(([kind, ofKind]) => [
    ...Object.entries(levels).map(([level, isOf]) => ({
      ...{ kind, level, field: 'all' },
      ...sumOf(ofKind.filter((score) => isOf.test(score.level))),
    })),
    ...CHOSEN_ENTRIES.map((field) => ({
      ...{ kind, level: 'all', field },
      ...sumOf(ofKind.filter((score) => score.field === field)),
    })),
  ]);
}

/** Lists the readings of samples that differ between two tables of weights, a line each. */
export function listChangedReadings(
  samples: readonly Sample[],
  before: WeightTable,
  after: WeightTable,
): readonly string[] {
  return samples.flatMap((sample) => {
    const old = listReadings(sample, before);
    return listReadings(sample, after).flatMap((pointers, index) =>
      pointers === old[index]
        ? []
        : [`${sample.name} ${CHOSEN_ENTRIES[index]}: ${old[index]} → ${pointers}`],
    );
  });
}

/** The pointers that are read for each entry. */
function listReadings(sample: Sample, weights: WeightTable): readonly string[] {
  const contract = inferEvent(recordsOf(sample), { ...MODEL, weights: toMap(weights) });
  return CHOSEN_ENTRIES.map(
    (entry) => readPointers(memberAt(contract, entry)).join(', ') || 'null',
  );
}

function toMap(weights: WeightTable): Model['weights'] {
  return new Map(Object.entries(weights));
}
