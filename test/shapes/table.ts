import { type Score, samplesOf, scoreAudit, scoreLogin } from './shapes.ts';

/** Reads every sample and counts: without configuration, and where a contract is kept beside a sample, with it. */
export async function measure(
  report: (line: string) => void = () => {},
): Promise<readonly Score[]> {
  const scores = new Map<string, Score>();
  const counter =
    (kind: string, level: string, name: string) =>
    (field: string, got: unknown, accepted: readonly unknown[]) => {
      const key = `${kind} ${level} ${field}`;
      const score = scores.get(key) ?? { kind, level, field, right: 0, wrong: 0, of: 0 };
      scores.set(key, score);
      score.of += 1;
      if (accepted.some((value) => JSON.stringify(value) === JSON.stringify(got))) score.right += 1;
      else {
        if (got !== null) score.wrong += 1;
        report(
          `${key}: ${name} gives ${String(got).slice(0, 80)} instead of ${String(accepted).slice(0, 80)}`,
        );
      }
    };
  for (const sample of samplesOf('audit')) {
    const { level } = sample.expect;
    await scoreAudit(sample, {}, counter('audit', level, sample.name));
    if (sample.contract !== null)
      await scoreAudit(sample, sample.contract, counter('audit', 'by contract', sample.name));
  }
  for (const sample of samplesOf('login')) {
    await scoreLogin(sample, counter('login', sample.expect.level, sample.name));
  }
  return [...scores.values()];
}
