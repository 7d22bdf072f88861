import { type EventOutcome, isFailureFlag, parseOutcome } from '../../mapping/values.ts';
import { areAll, type Candidate, isTimeText, isUnique, lastWords } from './candidates.ts';
import { ACTION_NAMES, ID_ENDS, isSurrounding, JOINED_ID, RECORD_WORDS, VERBS } from './names.ts';
import type { Suggestion } from './suggestion.ts';

type TextEntry = 'id' | 'action' | 'outcome' | 'ipAddress' | 'userAgent';

function toSuggestion(entry: TextEntry, { pointer, values }: Candidate): Suggestion {
  return { contract: { [entry]: pointer }, examples: [{ pointer, value: values[0] }] };
}

/**
 * Suggests unique texts and numbers that are named as the number or the ID of the record, or after the list of records;
 * or that are an ID and the first field of the record.
 * @param list The words of the key of the list, such as `transfer` for `transfers`.
 */
export function suggestId(candidates: readonly Candidate[], list = ''): readonly Suggestion[] {
  const rankOf = (field: Candidate): number => {
    const { meaning, isScalar, isFirst, texts } = field;
    const isValue = isScalar && isUnique(field) && !isTimeText(field);
    if (!isValue || meaning.party !== null || texts.some((text) => /\s|.{200}/.test(text)))
      return -1;
    const owner = meaning.words.replace(ID_ENDS, '');
    if (JOINED_ID.test(meaning.words)) return 0;
    if (!ID_ENDS.test(meaning.words)) return -1;
    if (RECORD_WORDS.test(`${owner} `.trimStart())) return 0;
    if (owner === list) return 1;
    return isFirst && !isSurrounding(owner) ? 2 : -1;
  };
  return candidates
    .map((field) => ({ field, rank: rankOf(field) }))
    .filter(({ rank }) => rank >= 0)
    .sort((a, b) => a.rank - b.rank || a.field.depth - b.field.depth)
    .map(({ field }) => toSuggestion('id', field));
}

/** Suggests texts whose name or values are those of an action. */
export function suggestAction(candidates: readonly Candidate[]): readonly Suggestion[] {
  const rankOf = (field: Candidate): number => {
    const { texts, isScalar, isSecret, meaning } = field;
    if (!isScalar || isSecret || isTimeText(field)) return -1;
    if (meaning.isExcluded && meaning.words !== 'change') return -1;
    if (texts.some((text) => text.length > 500 || /^[{[]/.test(text))) return -1;
    const name = ACTION_NAMES.findIndex((pattern) => pattern.test(lastWords(field)));
    const verbs = texts.filter((text) => VERBS.test(splitWords(text))).length / texts.length;
    const hasVerbs = verbs > 0.5;
    const isSentence = texts.some((text) => text.split(/\s+/).length > 4);
    const score =
      (name < 0 ? 0 : 3 - name) + (hasVerbs ? 3 : 0) - (isSentence ? 0.5 : 0) - field.depth / 10;
    return score < 2 ? -1 : score;
  };
  return candidates
    .map((field) => ({ field, score: rankOf(field) }))
    .filter(({ score }) => score >= 0)
    .sort((a, b) => b.score - a.score)
    .map(({ field }) => toSuggestion('action', field));
}

function splitWords(text: string): string {
  return text.replace(/([a-z])([A-Z])/g, '$1 $2').replace(/[_\W]+/g, ' ');
}

/** Whether a text is at most two words, and no flag. */
function isWord(text: string): boolean {
  return text.split(/\s+/).length < 3 && !/^(?:true|false)$/i.test(text);
}

/** Names of flags that are true for a failure of the action, and of nothing else. */
const FAILURE_FLAGS =
  /^(?:is |has |was |did )?(?:failure|failed|fail|error|errored|denied|blocked|rejected|refused|unsuccessful)(?: flag| indicator)?$/;

/** The same for a success. */
const SUCCESS_FLAGS =
  /^(?:is |was |has )?(?:ok|okay|passed|allowed|granted|permitted|authorized|success|successful|succeeded)(?: flag| indicator)?$/;

/** Words for a failure: in a field with such a name, "yes" is none. */
const FAILURE_NAMES =
  /\b(?:not|fail\w*|error\w*|exception|den(?:y|ied|ial)|block\w*|reject\w*|refus\w*|forbidden|abort\w*|invalid|unsuccess\w*|unauthori\w*)\b/;

/** How services write flags: the word for false, and that for true. */
const FLAGS = ['n y', 'f t', 'no yes', 'false true', 'off on', '0 1'].map((pair) =>
  pair.split(' '),
);

/** A map of the values of a flag, in their case; null if they are not those of a flag. */
function mapFlag(
  texts: readonly string[],
  outcomes: readonly [ifFalse: EventOutcome, ifTrue: EventOutcome],
): Readonly<Record<string, EventOutcome>> | null {
  const pair = FLAGS.find((words) => texts.every((text) => words.includes(text.toLowerCase())));
  const [first = ''] = texts;
  if (pair === undefined || first === '') return null;
  const isUpper = first === first.toUpperCase();
  const start = (word: string) =>
    first[0] === first[0]?.toLowerCase() ? word[0] : word[0]?.toUpperCase();
  const inCase = pair.map((word) =>
    isUpper ? word.toUpperCase() : `${start(word)}${word.slice(1)}`,
  );
  const entries = [...inCase, ...texts].map((text) => {
    const outcome = outcomes[text.toLowerCase() === pair[0] ? 0 : 1];
    return [text, outcome] as const;
  });
  return Object.fromEntries(entries);
}

/** Abbreviations that mean success or failure wherever they are. */
const ABBREVIATIONS = /^(?:succ|err|nok|ko)$/i;

/** Words that mean success or failure if, and only if, their field is an outcome. */
const SUCCESS_WORDS =
  /^(?:succ|ok|okay|pass|yes|positive|good|valid|authorized|executed|finished)$/i;
const FAILURE_WORDS =
  /^(?:nok|ko|not ok|err|no|negative|bad|invalid|unauthori[sz]ed|exception|timeout|timed ?out|cancell?ed|disallow(?:ed)?|incorrect)$/i;

/** More different values are no outcomes. */
const MAX_OUTCOMES = 8;

/**
 * Suggests words for success and failure under any name, flags with the name of a success or a failure, and fields with
 * the name of an outcome some of whose values are clear.
 */
export function suggestOutcome(candidates: readonly Candidate[]): readonly Suggestion[] {
  const own = candidates.filter(({ meaning }) => !meaning.isExcluded && !meaning.isInParty);
  const words = own.filter(
    ({ pointer, values }) =>
      !isFailureFlag(pointer) &&
      values.every(
        (value) => typeof value === 'string' && isWord(value) && parseOutcome(value) !== null,
      ),
  );
  const isSuccessFlag = ({ meaning }: Candidate) => SUCCESS_FLAGS.test(meaning.words);
  const successFlags = own.filter(
    (field) => isSuccessFlag(field) && field.values.every((value) => typeof value === 'boolean'),
  );
  const flags = own.flatMap((field) => {
    const isFailure = FAILURE_FLAGS.test(field.meaning.words);
    const map =
      isFailure || (isSuccessFlag(field) && !successFlags.includes(field))
        ? mapFlag(field.texts, isFailure ? ['SUCCESS', 'FAILURE'] : ['FAILURE', 'SUCCESS'])
        : null;
    return map === null ? [] : [toMapSuggestion(field, map)];
  });
  // Whether "yes" is a success depends on the name.
  const clear = own.filter(
    ({ meaning, texts }) =>
      !FAILURE_NAMES.test(meaning.words) || mapFlag(texts, ['FAILURE', 'SUCCESS']) === null,
  );
  const abbreviated = clear.filter(
    ({ texts }) =>
      texts.some((text) => ABBREVIATIONS.test(text)) &&
      texts.every((text) => ABBREVIATIONS.test(text) || (isWord(text) && parseOutcome(text))),
  );
  const named = clear.filter(
    ({ meaning, texts }) =>
      meaning.ranks.outcome >= 0 && new Set(texts).size <= MAX_OUTCOMES && texts.every(isWord),
  );
  return [
    ...[...words, ...successFlags].map((field) => toSuggestion('outcome', field)),
    ...flags,
    ...[...abbreviated, ...named]
      .map((field) => toMapSuggestion(field, guessOutcomes(field.texts)))
      .filter(({ contract: { outcome } }) => Object.keys(Object(outcome).map).length > 0),
  ];
}

function guessOutcomes(texts: readonly string[]): Readonly<Record<string, EventOutcome>> {
  const guessed = texts.flatMap((text): readonly (readonly [string, EventOutcome])[] => {
    const outcome = SUCCESS_WORDS.test(text)
      ? 'SUCCESS'
      : FAILURE_WORDS.test(text)
        ? 'FAILURE'
        : parseOutcome(text);
    return outcome === null ? [] : [[text, outcome]];
  });
  return Object.fromEntries(guessed);
}

function toMapSuggestion(
  { pointer, values, texts }: Candidate,
  map: Readonly<Record<string, EventOutcome>>,
): Suggestion {
  return {
    contract: { outcome: { at: pointer, map } },
    examples: [{ pointer, value: values[0] }],
    unmapped: [...new Set(texts)].filter((text) => !Object.hasOwn(map, text)),
  };
}

/** A user agent as browsers and libraries send it. */
const USER_AGENT = /^(?:Mozilla|Opera|Dalvik|curl|okhttp|python-requests|PostmanRuntime)\/\d/;

/** Suggests texts in the format of a user agent. */
export function suggestUserAgent(candidates: readonly Candidate[]): readonly Suggestion[] {
  return candidates
    .filter((field) => areAll(field, USER_AGENT))
    .map((field) => toSuggestion('userAgent', field));
}
