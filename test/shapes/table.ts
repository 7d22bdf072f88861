import {
  type Add,
  type Sample,
  type Score,
  samplesOf,
  scoreAudit,
  scoreDelete,
  scoreError,
  scoreLogin,
} from './shapes.ts';

/** The scores, and one line for each value that differs from the expectation. */
export type Measurement = { readonly scores: readonly Score[]; readonly misses: readonly string[] };

/** Counts the values of samples by kind, level and field. */
export class Tally {
  readonly #scores = new Map<string, Score>();
  readonly #misses: string[] = [];

  /** Returns the function that counts the values of a sample. */
  of(kind: string, level: string, name: string): Add {
    return (field, got, accepted) => {
      const key = `${kind} ${level} ${field}`;
      const score = this.#scores.get(key) ?? { kind, level, field, right: 0, wrong: 0, of: 0 };
      this.#scores.set(key, score);
      score.of += 1;
      if (accepted.some((value) => JSON.stringify(value) === JSON.stringify(got))) {
        score.right += 1;
        return;
      }
      if (got !== null) score.wrong += 1;
      this.#misses.push(
        `${key}: ${name} gives ${String(got).slice(0, 60)}, not ${String(accepted).slice(0, 60)}`,
      );
    };
  }

  /** What has been counted. */
  get measurement(): Measurement {
    return { scores: [...this.#scores.values()], misses: this.#misses };
  }
}

/** Reads every sample without a contract, and those that have a contract also with it. */
export async function measure(): Promise<Measurement> {
  const tally = new Tally();
  for (const sample of samplesOf('audit')) {
    const { name, contract } = sample;
    await scoreAudit(sample, {}, tally.of('audit', levelOf(sample), name));
    if (contract) await scoreAudit(sample, contract, tally.of('audit', 'by contract', name));
  }
  for (const sample of samplesOf('login')) {
    if (sample.expect.level === 'none') continue; // a cookie is not a token
    const level = sample.contract ? 'by contract' : levelOf(sample);
    await scoreLogin(sample, tally.of('login', level, sample.name));
  }
  for (const sample of samplesOf('delete'))
    await scoreDelete(sample, tally.of('delete', 'all', sample.name));
  for (const sample of samplesOf('error'))
    await scoreError(sample, tally.of('error', 'all', sample.name));
  return tally.measurement;
}

/** The level of a sample. An unverified one has its own, because the rules with percentages leave it out. */
export function levelOf({ verified, expect: { level } }: Sample): string {
  return verified ? level : `${level}, unverified`;
}

/** Returns the rules that the scores do not fulfil, each as a sentence. */
export function judge(scores: readonly Score[]): readonly string[] {
  const sum = (kind: string, level: RegExp, matches: (field: string) => boolean = () => true) =>
    sumOf(
      scores.filter(
        (score) => score.kind === kind && level.test(score.level) && matches(score.field),
      ),
    );
  const isContainer = (field: string) => field === 'container';
  const isField = (field: string) => !isContainer(field);
  const usual = sum('audit', /^usual$/, isField);
  const unusual = sum('audit', /^unusual$/, isField);
  const unusualContainers = sum('audit', /^unusual$/, isContainer);
  const unusualLogins = sum('login', /^unusual$/);
  const rules: readonly (readonly [string, boolean])[] = [
    ['every usual container is found', isComplete(sum('audit', /^usual/, isContainer))],
    ['97 % of the usual fields are read', isMost(usual, 0.97)],
    ['at most 0.5 % of the usual fields are read wrongly', usual.wrong <= usual.of * 0.005],
    ['97 % of the unusual containers are found', isMost(unusualContainers, 0.97)],
    ['92 % of the unusual fields are read', isMost(unusual, 0.92)],
    ['at most 1.5 % of the unusual fields are read wrongly', unusual.wrong <= unusual.of * 0.015],
    ['every field is read by contract', isComplete(sum('audit', /^by contract$/))],
    ['every usual login is read', isComplete(sum('login', /^usual/))],
    ['65 % of the unusual logins are read', isMost(unusualLogins, 0.65)],
    ['no value of a login is wrong', sum('login', /./).wrong === 0],
    ['every login is read by contract', isComplete(sum('login', /^by contract$/))],
    ['every deletion is read', isComplete(sum('delete', /^all$/))],
    ['every error is read', isComplete(sum('error', /^all$/))],
  ];
  return rules.filter(([, holds]) => !holds).map(([rule]) => rule);
}

/** Values that were read. */
export type Sum = Pick<Score, 'right' | 'wrong' | 'of'>;

/** Adds scores. */
export function sumOf(scores: readonly Score[]): Sum {
  return scores.reduce(
    (a, b) => ({ right: a.right + b.right, wrong: a.wrong + b.wrong, of: a.of + b.of }),
    { right: 0, wrong: 0, of: 0 },
  );
}

function isMost({ right, of }: Sum, share: number): boolean {
  return of > 0 && right >= of * share;
}

function isComplete(sum: Sum): boolean {
  return isMost(sum, 1);
}
