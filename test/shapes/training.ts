import {
  CHOSEN_ENTRIES,
  type ChosenEntry,
  isCandidate,
} from '../../src/gateway/inference/candidates.ts';
import { listFeatures } from '../../src/gateway/inference/features.ts';
import { examineRecords } from '../../src/gateway/inference/record-fields.ts';
import { firstOfList } from '../../src/gateway/mapping/event.ts';
import { compilePointer, interpretPointer } from '../../src/gateway/mapping/json-pointer.ts';
import { parseHttpStatus, parseOutcome } from '../../src/gateway/mapping/values.ts';
import { minimize } from './lbfgs.ts';
import { acceptedValues, LABELS, normalize, type Sample } from './shapes.ts';

/** The weights of each feature, a number per entry in the order of `CHOSEN_ENTRIES`. */
export type WeightTable = Readonly<Record<string, readonly number[]>>;

/** Words are features only if fields of this many vendors have them: no vendor has rules of its own. */
const MIN_VENDORS = 3;

/** How strongly weights are drawn to 0. 0.3 and 0.6 read 0.1 % less, or 0.1 % more wrongly. */
const L2 = 0.5;

/** Weights below this are 0, which leaves half of the table and changes no reading. */
const MIN_WEIGHT = 0.05;

/** How much an example counts in which the right fields are missing: then none of the others is right. */
const WITHOUT = 0.06;

/** The features of a candidate, and whether its value is right in a record. */
type Option = {
  readonly features: readonly string[];
  readonly isRight: boolean;
};

/** A choice to learn: that of an entry in one record. */
export type Example = {
  readonly vendor: string;
  readonly column: number;
  readonly options: readonly Option[];
  /** Of several records of a sample, each counts less. */
  readonly weight: number;
};

/** The records of a sample. */
export function recordsOf({ response, expect }: Sample): readonly unknown[] {
  return Object.values(Object(interpretPointer(expect.records)(response.body)));
}

/** Lists what there is to learn from a sample. */
export function listExamples(sample: Sample): readonly Example[] {
  const records = recordsOf(sample);
  const { fields } = examineRecords(records);
  const features = listFeatures(fields);
  const labelled = sample.expect.values;
  return CHOSEN_ENTRIES.flatMap((entry, column) => {
    const candidates = fields.flatMap((field, index) =>
      isCandidate(entry, field) ? [{ field, features: features[index] ?? [] }] : [],
    );
    return labelled.flatMap((_, index): Example[] => {
      const accepted = acceptedValues(sample, LABELS[entry], index);
      const options = candidates
        .filter(({ field }) => field.records.includes(index))
        .map(({ field, features }) => {
          const value = readAs(entry, compilePointer(field.pointer)(records[index]));
          const isRight = value !== null && accepted.includes(value);
          return { features, isRight, isBest: isRight && value === accepted[0] };
        });
      if (options.length === 0) return [];
      const isNone = accepted.includes(null) || !options.some(({ isRight }) => isRight);
      const none = { features: ['none'], isRight: isNone };
      // Of several times, the label comes first: otherwise none of them would become certain.
      const hasBest = entry === 'occurredAt' && options.some(({ isBest }) => isBest);
      const ranked = hasBest
        ? options.map(({ features, isBest }) => ({ features, isRight: isBest }))
        : options;
      const { vendor } = sample;
      const weight = 1 / labelled.length;
      const wrong = options.filter(({ isRight }) => !isRight);
      const without = { options: [...wrong, { ...none, isRight: true }], weight: weight * WITHOUT };
      return [
        { vendor, column, options: [...ranked, none], weight },
        ...(wrong.length < options.length && wrong.length > 0
          ? [{ vendor, column, ...without }]
          : []),
      ];
    });
  });
}

/** The value as mapping reads it, in the form of the labels. */
export function readAs(entry: ChosenEntry, value: unknown): unknown {
  if (entry === 'outcome') return parseOutcome(value) ?? parseHttpStatus(value);
  return normalize(LABELS[entry], entry === 'ipAddress' ? firstOfList(value) : value);
}

/** Columns of entries, then of what is shared: roles and parts of a party. */
const ROLES = ['actor', 'target'];
const PARTS = ['identifier', 'name', 'type'];
const WIDTH = CHOSEN_ENTRIES.length + ROLES.length + PARTS.length;

/** The columns that count for an entry: what is learned about one party, or one part, counts for the others too. */
const COLUMNS: readonly (readonly number[])[] = CHOSEN_ENTRIES.map((entry, column) => {
  const [role = '', part = ''] = entry.split('.');
  if (part === '') return [column];
  const start = CHOSEN_ENTRIES.length;
  return [column, start + ROLES.indexOf(role), start + ROLES.length + PARTS.indexOf(part)];
});

/**
 * Trains a softmax over the candidates and "none" of each entry. The same examples give the same weights. Options with
 * equal features are summed once: 201 samples take 0.9 seconds instead of 2.6.
 */
export function train(examples: readonly Example[]): WeightTable {
  const names = listNames(examples);
  const { choices, sums } = compile(examples, names);
  const scores = new Float64Array(sums.length);
  const changes = new Float64Array(sums.length);
  const point = minimize(
    (point, gradient) => {
      let loss = 0;
      for (let i = 0; i < point.length; i += 1) {
        const one = point[i] as number; // below the length
        gradient[i] = L2 * one;
        loss += 0.5 * L2 * one * one;
      }
      sums.forEach((indexes, position) => {
        let sum = 0;
        for (let i = 0; i < indexes.length; i += 1) sum += point[indexes[i] as number] as number;
        scores[position] = sum;
      });
      changes.fill(0);
      for (const choice of choices) loss += weigh(choice, scores, changes);
      sums.forEach((indexes, position) => {
        const change = changes[position] as number;
        for (let i = 0; i < indexes.length; i += 1) {
          const index = indexes[i] as number;
          gradient[index] = (gradient[index] as number) + change;
        }
      });
      return loss;
    },
    new Float64Array(names.length * WIDTH),
  );
  return toTable(names, point);
}

/** An example: the positions of the sums of its options, and which of them are right. */
type Choice = {
  readonly weight: number;
  readonly positions: Int32Array;
  readonly isRight: readonly boolean[];
};

/** Lists examples, and for each sum of weights where those are. */
function compile(
  examples: readonly Example[],
  names: readonly string[],
): { readonly choices: readonly Choice[]; readonly sums: readonly Int32Array[] } {
  const rows = new Map(names.map((name, index) => [name, index * WIDTH]));
  const sums: Int32Array[] = [];
  const known = new Map<string, number>();
  const positionOf = (features: readonly string[], column: number): number => {
    const key = JSON.stringify([column, features]);
    const position = known.get(key) ?? sums.length;
    if (position === sums.length) {
      const columns = COLUMNS[column] ?? [];
      const found = features.map((name) => rows.get(name)).filter((row) => row !== undefined);
      sums.push(Int32Array.from(found.flatMap((row) => columns.map((one) => row + one))));
      known.set(key, position);
    }
    return position;
  };
  const choices = examples.map(({ column, options, weight }) => ({
    weight,
    positions: Int32Array.from(options, ({ features }) => positionOf(features, column)),
    isRight: options.map(({ isRight }) => isRight),
  }));
  return { choices, sums };
}

/** Returns the loss of a choice, and adds how it changes with each sum. */
function weigh(choice: Choice, scores: Float64Array, changes: Float64Array): number {
  const { weight, positions, isRight } = choice;
  let max = -Infinity;
  for (const position of positions) max = Math.max(max, scores[position] as number);
  const exps = new Float64Array(positions.length);
  let [total, right] = [0, 0];
  for (let i = 0; i < positions.length; i += 1) {
    const exp = Math.exp((scores[positions[i] as number] as number) - max);
    exps[i] = exp;
    total += exp;
    if (isRight[i]) right += exp;
  }
  for (let i = 0; i < positions.length; i += 1) {
    const position = positions[i] as number;
    const exp = exps[i] as number;
    const change = weight * (exp / total - (isRight[i] ? exp / right : 0));
    changes[position] = (changes[position] as number) + change;
  }
  return -weight * Math.log(right / total);
}

/** The features that count, in the order of their names. */
function listNames(examples: readonly Example[]): readonly string[] {
  const vendors = new Map<string, Set<string>>();
  for (const { vendor, options } of examples)
    for (const { features } of options)
      for (const name of features) {
        const known = vendors.get(name) ?? new Set();
        vendors.set(name, known.add(vendor));
      }
  const isWord = (name: string) => /^(?:last|start|inside|pair|wrapper)=/.test(name);
  return [...vendors]
    .filter(([name, { size }]) => !isWord(name) || size >= MIN_VENDORS)
    .map(([name]) => name)
    .sort();
}

function toTable(names: readonly string[], point: Float64Array): WeightTable {
  const rows = names.map((name, index) => {
    const weights = COLUMNS.map((columns) => {
      const sum = columns.reduce((sum, column) => sum + (point[index * WIDTH + column] ?? 0), 0);
      return Math.abs(sum) < MIN_WEIGHT ? 0 : Math.round(sum * 100) / 100;
    });
    return [name, weights] as const;
  });
  return Object.fromEntries(rows.filter(([, weights]) => weights.some((one) => one !== 0)));
}

/** The file with the weights: a line per feature, so that a difference can be read. */
export function formatWeights(weights: WeightTable): string {
  const lines = Object.entries(weights).map(
    ([name, row]) => `  ${JSON.stringify(name)}: [${row.join(', ')}]`,
  );
  return `{\n${lines.join(',\n')}\n}\n`;
}
