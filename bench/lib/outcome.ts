import { type Caller, isAsExpected } from './caller.ts';
import type { Question } from './questions.ts';

/** What became of a request. Times are milliseconds. */
export type Outcome = {
  readonly tag: string;
  readonly isRead: boolean;
  readonly sentAt: number;
  readonly took: number;
  /** `OK` for what was asked for, `WRONG` for other data, `LOST` for no answer, else the code of the failure. */
  readonly code: string;
  /** Whether the gateway said that it sends nothing for now. */
  readonly isSpared: boolean;
};

/** Asks, and never rejects. */
export async function ask({ post }: Caller, question: Question): Promise<Outcome> {
  const { tag, field, data } = question;
  const sentAt = performance.now();
  const reply = await post(question).catch(() => null);
  const { code, retryAfterSeconds } = reply?.failure ?? {};
  const isRight = reply !== null && isAsExpected(reply, { data });
  return {
    tag,
    isRead: field === 'audit',
    sentAt,
    took: performance.now() - sentAt,
    code: reply === null ? 'LOST' : (code ?? (isRight ? 'OK' : 'WRONG')),
    isSpared: code === 'UPSTREAM_UNAVAILABLE' && retryAfterSeconds !== undefined,
  };
}
