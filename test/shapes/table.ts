import {
  type Add,
  type Score,
  samplesOf,
  scoreAudit,
  scoreDelete,
  scoreError,
  scoreLogin,
} from './shapes.ts';

/** The scores, and one line for each value that differs from the expectation. */
export type Measurement = { readonly scores: readonly Score[]; readonly misses: readonly string[] };

/** Reads every sample without a contract, and the unusual audit samples also with theirs. */
export async function measure(): Promise<Measurement> {
  const scores = new Map<string, Score>();
  const misses: string[] = [];
  const createCounter =
    (kind: string, level: string, name: string): Add =>
    (field, got, accepted) => {
      const key = `${kind} ${level} ${field}`;
      const score = scores.get(key) ?? { kind, level, field, right: 0, wrong: 0, of: 0 };
      scores.set(key, score);
      score.of += 1;
      if (accepted.some((value) => JSON.stringify(value) === JSON.stringify(got))) {
        score.right += 1;
        return;
      }
      if (got !== null) score.wrong += 1;
      misses.push(
        `${key}: ${name} gives ${String(got).slice(0, 60)}, not ${String(accepted).slice(0, 60)}`,
      );
    };
  for (const sample of samplesOf('audit')) {
    const { level } = sample.expect;
    await scoreAudit(sample, {}, createCounter('audit', level, sample.name));
    if (level === 'unusual') {
      await scoreAudit(
        sample,
        sample.contract ?? {},
        createCounter('audit', 'by contract', sample.name),
      );
    }
  }
  for (const sample of samplesOf('login')) {
    if (sample.expect.level === 'none') continue; // a cookie is not a token
    await scoreLogin(sample, createCounter('login', sample.expect.level, sample.name));
  }
  for (const sample of samplesOf('delete'))
    await scoreDelete(sample, createCounter('delete', 'all', sample.name));
  for (const sample of samplesOf('error'))
    await scoreError(sample, createCounter('error', 'all', sample.name));
  return { scores: [...scores.values()], misses };
}

/** Returns the rules that the scores do not fulfil, each as a sentence. */
export function judge(scores: readonly Score[]): readonly string[] {
  const sum = (kind: string, level: string, matches: (field: string) => boolean) =>
    scores
      .filter((score) => score.kind === kind && score.level === level && matches(score.field))
      .reduce((a, b) => ({ right: a.right + b.right, wrong: a.wrong + b.wrong, of: a.of + b.of }), {
        right: 0,
        wrong: 0,
        of: 0,
      });
  const isContainer = (field: string) => field === 'container';
  const usual = sum('audit', 'usual', (field) => !isContainer(field));
  const all = (kind: string, level: string) => sum(kind, level, () => true);
  const rules: readonly (readonly [string, boolean])[] = [
    ['every usual container is found', isComplete(sum('audit', 'usual', isContainer))],
    ['95 % of the usual fields are read', usual.right >= usual.of * 0.95],
    ['at most 1 % of the usual fields are read wrongly', usual.wrong <= usual.of * 0.01],
    ['12 unusual containers are found', sum('audit', 'unusual', isContainer).right >= 12],
    ['every unusual field is read by contract', isComplete(all('audit', 'by contract'))],
    [
      'every login is read',
      isComplete(all('login', 'usual')) && isComplete(all('login', 'unusual')),
    ],
    ['every deletion is read', isComplete(all('delete', 'all'))],
    ['every error is read', isComplete(all('error', 'all'))],
  ];
  return rules.filter(([, holds]) => !holds).map(([rule]) => rule);
}

function isComplete({ right, of }: { readonly right: number; readonly of: number }): boolean {
  return of > 0 && right === of;
}
