/** How an action ended. */
export type EventOutcome = 'SUCCESS' | 'FAILURE';

/** Whole words, as a failover is no failure: a text that begins so says that it was done. */
const DONE =
  /^(?:(?:true|ok|okay|pass(?:ed)?|done)$|(?:success(?:ful(?:ly)?)?|succeed(?:s|ed)?|allow(?:s|ed)?|grant(?:s|ed)?|permit(?:s|ted)?|accept(?:s|ed)?|approved|completed?)(?![a-z]))/i;

/** One that begins or ends so says that it was not. */
const NOT_DONE =
  /^(?:false|fail(?:s|ed|ing|ures?)?|(?:error|block|abort|reject)(?:s|ed)?|rejection|refus(?:es?|ed|al)|forbid(?:s|den)?|den(?:y|ies|ied|ial)|(?:un|not )authori[sz]ed|(?:in|not )valid|unsuccessful(?:ly)?|not (?:ok|success(?:ful)?|succeeded|found|allowed|permitted|granted|accepted|approved|passed|done|completed?|executed|processed|deleted))(?![a-z])|(?<!^no )(?:failed|failures?|(?<![a-z])(?:errors?|denied|rejected|not found))$/i;

/** No outcome is longer. */
const MAX_LENGTH = 1000;

const WORD = /^(?:[a-z]+|[A-Z]+)$/;

/** A flag or a word, in most of the ways in which services say it; null for every other, and for what says both. */
export function parseOutcome(value: unknown): EventOutcome | null {
  if (typeof value !== 'boolean' && typeof value !== 'string') return null;
  const given = String(value);
  if (given.length > MAX_LENGTH) return null;
  const text = WORD.test(given) ? given : given.replace(/[_-]|(?<=[a-z])(?=[A-Z])/g, ' ');
  const isDone = DONE.test(text);
  if (isDone === NOT_DONE.test(text)) return null;
  return isDone ? 'SUCCESS' : 'FAILURE';
}
