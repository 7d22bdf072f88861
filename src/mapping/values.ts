import { lastWords } from './member-names.ts';

/** Whether a value is a JSON object: not an array, not null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Texts that mean "no value". */
const NO_VALUE = /^(?:|-|n\/a|null)$/i;

/** Converts text and numbers to text. Null for anything else, and for text that means "no value", see NO_VALUE. */
export function toText(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && (value.length > 4 || !NO_VALUE.test(value)) ? value : null;
}

const FLAG = /^(?:(true|yes|on|y|t|1)|false|no|off|n|f|0)$/i;

/** Reads a flag, in any of the ways in which services write one: true, "True", "Y", "on", 1. Null for anything else. */
export function toFlag(value: unknown): boolean | null {
  const match = typeof value === 'object' ? null : FLAG.exec(String(value));
  return match && match[1] !== undefined;
}

/** Whether a value is a whole number of digits, as a number or as text. */
export function isCount(value: unknown): boolean {
  return typeof value !== 'object' && /^\d+$/.test(String(value));
}

/** Whether an action succeeded. */
export type EventOutcome = 'SUCCESS' | 'FAILURE';

/** Success, if the text begins with one of these as a whole word: `completed_with …`, not `failover`. */
const SUCCESS =
  /^(?:(?:true|ok|okay|pass(?:ed)?|done)$|(?:success(?:ful(?:ly)?)?|succeed(?:s|ed)?|allow(?:s|ed)?|grant(?:s|ed)?|permit(?:s|ted)?|accept(?:s|ed)?|approved|completed?)(?![a-z]))/i;

/** Failure, if the text begins or ends with one of these as a whole word. */
const FAILURE =
  /^(?:false|fail(?:s|ed|ing|ures?)?|(?:error|block|abort|reject)(?:s|ed)?|rejection|refus(?:es?|ed|al)|forbid(?:s|den)?|den(?:y|ies|ied|ial)|(?:un|not )authori[sz]ed|(?:in|not )valid|unsuccessful(?:ly)?|not (?:ok|success(?:ful)?|succeeded|found|allowed|permitted|granted|accepted|approved|passed|done|completed?|executed|processed|deleted))(?![a-z])|(?<!^no )(?:failed|failures?|(?<![a-z])(?:errors?|denied|rejected|not found))$/i;

/** Longer texts are never outcomes. */
const MAX_LENGTH = 1000;

/** A single word, which needs no splitting. */
const WORD = /^(?:[a-z]+|[A-Z]+)$/;

/** Parses a boolean or a text in any case style. Null for anything else, and for text that is both or neither. */
export function parseOutcome(value: unknown): EventOutcome | null {
  if (typeof value !== 'boolean' && typeof value !== 'string') return null;
  const given = String(value);
  if (given.length > MAX_LENGTH) return null;
  const text = WORD.test(given) ? given : given.replace(/[_-]|(?<=[a-z])(?=[A-Z])/g, ' ');
  const isSuccess = SUCCESS.test(text);
  if (isSuccess === FAILURE.test(text)) return null;
  return isSuccess ? 'SUCCESS' : 'FAILURE';
}

/** Parses an HTTP status: 2xx and 3xx are success, 4xx and 5xx failure (RFC 9110, section 15). Null for anything else. */
export function parseHttpStatus(value: unknown): EventOutcome | null {
  if (typeof value !== 'number' && typeof value !== 'string') return null;
  if (!/^[2-5]\d\d$/.test(String(value))) return null;
  return Number(value) < 400 ? 'SUCCESS' : 'FAILURE';
}

/** Names of flags that are true if an action failed. The words before are verbs, or name what failed. */
const FAILURE_FLAG =
  /^(?:(?:is|has|had|was|did|access|action|auth|authentication|authorization|login|operation|request) )*(?:fail|failed|failing|failure|error|errored|exception|denied|denial|blocked|rejected|rejection|refused|forbidden|aborted|unauthori[sz]ed|invalid|unsuccessful)(?: flag| indicator)?$/;

/** Whether a pointer leads to a flag such as `is_failure`, whose `true` would be read as success. */
export function isFailureFlag(pointer: string): boolean {
  return FAILURE_FLAG.test(lastWords(pointer));
}
