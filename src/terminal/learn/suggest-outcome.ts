import type { RecordField } from '../../gateway/inference/record-fields.ts';
import { classesOf } from '../../gateway/inference/word-classes.ts';
import { wordsOfPointer } from '../../gateway/mapping/member-names.ts';
import { type EventOutcome, isFailureFlag, parseOutcome } from '../../gateway/mapping/values.ts';
import type { SuggestedEntry } from './suggested-entry.ts';

type OutcomeMap = Readonly<Record<string, EventOutcome>>;

/** By pointer, suggests how to read the outcome: words for one under any name as they are; flags and other words by a map. */
export function suggestMaps(
  fields: readonly RecordField[],
): ReadonlyMap<string, readonly SuggestedEntry[]> {
  return new Map(
    fields.flatMap((field): readonly (readonly [string, readonly SuggestedEntry[]])[] => {
      const { pointer, values } = field;
      const texts = values.map(String);
      const isOutcome = (value: unknown) =>
        typeof value === 'string' && isWord(value) && parseOutcome(value) !== null;
      const isPlain = !isFailureFlag(pointer) && values.every(isOutcome);
      const map = isPlain ? undefined : (mapFlag(pointer, texts) ?? mapWords(pointer, texts));
      if (map === null) return isFailureFlag(pointer) ? [[pointer, []]] : []; // no contract reads it as it is
      return [[pointer, [{ entry: isPlain ? pointer : { at: pointer, map }, fields: [field] }]]];
    }),
  );
}

/** Whether a text is at most two words, and no flag. */
function isWord(text: string): boolean {
  return text.split(/\s+/).length < 3 && !/^(?:true|false)$/i.test(text);
}

/** How services write flags: the word for false, and that for true. */
const FLAGS = ['n y', 'f t', 'no yes', 'false true', 'off on', '0 1'].map((pair) =>
  pair.split(' '),
);

/** Maps both values of a flag, in the case of the first, to outcomes; null if the name or a value is not that of a flag. */
function mapFlag(pointer: string, texts: readonly string[]): OutcomeMap | null {
  const name = wordsOfPointer(pointer).replace(VERBS, '');
  const isFailure = isFailureFlag(pointer);
  const isFlag = !name.includes(' ') && (isFailure || parseOutcome(name) === 'SUCCESS');
  const pair = FLAGS.find((flag) => texts.every((text) => flag.includes(text.toLowerCase())));
  if (pair === undefined || !isFlag) return null;
  const [first = ''] = texts;
  const inCase = pair.map((word) => {
    if (first === first.toUpperCase()) return word.toUpperCase();
    return first === first.toLowerCase() ? word : `${word[0]?.toUpperCase()}${word.slice(1)}`;
  });
  const toOutcome = (text: string): EventOutcome =>
    (text.toLowerCase() === pair[0]) === isFailure ? 'SUCCESS' : 'FAILURE';
  return Object.fromEntries([...inCase, ...texts].map((text) => [text, toOutcome(text)]));
}

/** Words around that of a flag. Another one says that it is about something else than the action: `auth failure`. */
const VERBS = /^(?:is|was|has|had|did) | (?:flag|indicator)$/g;

/** Words that mean success or failure if, and only if, their field is an outcome. */
const SUCCESS_WORDS = /^(?:succ|ok|okay|pass|yes|positive|good|valid|authorized)$/i;
const FAILURE_WORDS =
  /^(?:nok|ko|not ok|err|no|negative|bad|invalid|unauthori[sz]ed|exception|timeout|timed ?out|cancell?ed|disallow(?:ed)?|incorrect)$/i;

/** Maps those values of a field with the name of an outcome that are clear; null if no value is. */
function mapWords(pointer: string, texts: readonly string[]): OutcomeMap | null {
  const words = wordsOfPointer(pointer).split(' ');
  const isNamed = words.some((word) => classesOf(word).includes('outcome'));
  if (!isNamed || words.some((word) => /^(?:not|fail.*|error)$/.test(word)) || !texts.every(isWord))
    return null;
  const entries = texts.flatMap((text): readonly (readonly [string, EventOutcome])[] => {
    if (SUCCESS_WORDS.test(text)) return [[text, 'SUCCESS']];
    const outcome = FAILURE_WORDS.test(text) ? 'FAILURE' : parseOutcome(text);
    return outcome === null ? [] : [[text, outcome]];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : null;
}
