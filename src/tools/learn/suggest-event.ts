import { type EventOutcome, isFailureFlag, parseOutcome } from '../../mapping/values.ts';
import { areAll, type Candidate, isTimeText, lastWords, type Suggestion } from './candidates.ts';
import { isSurrounding } from './suggest-party.ts';

/** Last words of the ID of a record. */
const ID_ENDS =
  /(?:^| )(?:id|uuid|guid|uid|pk|ref|reference|number|num|no|nr|sequence|seq|serial|index|rowid|identifier|qualifier)$/;

/** Words that may precede it: they mean the record, or nothing. */
const RECORD_WORDS =
  /^(?:(?:event|evt|audit|log|entry|record|rec|activity|history|trail|journal|row|line|item|message|msg|alert|notification|change|action|operation|transaction|txn|trx|unique|global|internal|tracking|system|sys|auto|increment|sequence|seq|serial|doc|document|the|of|id) )*$/;

/** Names of an action, best first. */
const ACTION_NAMES = [
  /(?:^| )(?:action|operation|activity|verb|command|cmd|procedure|task|act|crud|function|method)(?: (?:type|name|code|key|label|kind|id|desc|description|text))?$/,
  /(?:^| )(?:what|event|transaction|txn|trx|request|input|change|audit|subtype|sub type|type|kind|category|code|name|title|key)(?: (?:type|name|code|key|label|kind|id|desc|description|text))?$/,
  /(?:^| )(?:message|msg|description|summary|text|detail|detail|content|label|display|note|comment|remark|title|reason|statement|query|data)$/,
] as const;

/** A verb of an audit trail, as a word of a value. */
export const VERBS =
  /(?<![a-z])(?:(?:re|un|de|dis|auto)?(?:create|add|insert|new|del|delete|remove|rm|drop|purge|erase|update|modify|modified|edit|change|alter|patch|put|post|set|get|read|view|list|open|close|access|query|select|search|download|upload|export|import|send|sent|receive|login|logon|signin|log ?in|logged ?in|logged ?out|sign ?in|signed ?in|log ?out|logout|logoff|signout|log ?off|authenticate|authentication|authorize|approve|reject|enable|disable|activate|deactivate|lock|unlock|grant|revoke|assign|start|stop|run|execute|launch|deploy|build|install|uninstall|move|rename|copy|share|invite|join|leave|left|reset|rotate|issue|register|connect|disconnect|block|allow|deny|denied|fail|failed|submit|cancel|publish|archive|restore|backup|verify|generate|renew|transfer|attach|detach|merge|push|pull|commit|sync|scan|upgrade|complete|begin|end|schedule|print|save|ban|suspend|resume|expire|terminate)(?:s|es|d|ed|ing|ion|ation|al|ted|ged|led|ned|ped)?)(?![a-z])/i;

/** Fields with lower scores are not suggested. */
const MIN_SCORE = 2;

type OutcomeMap = Readonly<Record<string, EventOutcome>>;

/**
 * Suggests unique texts and numbers that are named as the number or the ID of the record, or that are an ID and the first
 * field of the record.
 */
export function suggestId(candidates: readonly Candidate[]): readonly Suggestion[] {
  return suggestBest('id', candidates, (field) => {
    const { meaning, isScalar, isFirst, texts } = field;
    const isUnique = isScalar && !isTimeText(field) && new Set(texts).size === texts.length;
    if (!isUnique || !ID_ENDS.test(meaning.words)) return 0;
    const owner = meaning.words.replace(ID_ENDS, '');
    if (RECORD_WORDS.test(`${owner} `.trimStart())) return 4;
    return isFirst && !isSurrounding(owner) ? 3 : 0;
  });
}

/** Suggests texts whose name or values are those of an action. */
export function suggestAction(candidates: readonly Candidate[]): readonly Suggestion[] {
  return suggestBest('action', candidates, (field) => {
    const { texts, isScalar, isSecret } = field;
    if (!isScalar || isSecret || isTimeText(field)) return 0;
    const name = ACTION_NAMES.findIndex((pattern) => pattern.test(lastWords(field)));
    const verbs = texts.filter((text) => VERBS.test(splitWords(text)));
    return (name < 0 ? 0 : 3 - name) + (2 * verbs.length > texts.length ? 3 : 0);
  });
}

/** Suggests the fields with the best scores. Each level of nesting costs a tenth. */
function suggestBest(
  entry: 'id' | 'action',
  candidates: readonly Candidate[],
  scoreOf: (field: Candidate) => number,
): readonly Suggestion[] {
  return candidates
    .map((field) => ({ field, score: scoreOf(field) - field.depth / 10 }))
    .filter(({ score }) => score >= MIN_SCORE)
    .sort((a, b) => b.score - a.score)
    .map(({ field }) => ({ contract: { [entry]: field.pointer }, fields: [field] }));
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

/** How services write flags: the word for false, and that for true. */
const FLAGS = ['n y', 'f t', 'no yes', 'false true', 'off on', '0 1'].map((pair) =>
  pair.split(' '),
);

/** Maps both values of a flag, in the case of the first, to outcomes; null if the name or a value is not that of a flag. */
function mapFlag({ meaning: { words }, texts }: Candidate): OutcomeMap | null {
  const isFailure = FAILURE_FLAGS.test(words);
  const pair = FLAGS.find((flag) => texts.every((text) => flag.includes(text.toLowerCase())));
  if (pair === undefined || !(isFailure || SUCCESS_FLAGS.test(words))) return null;
  const [first = ''] = texts;
  const inCase = pair.map((word) => {
    if (first === first.toUpperCase()) return word.toUpperCase();
    return first === first.toLowerCase() ? word : `${word[0]?.toUpperCase()}${word.slice(1)}`;
  });
  const toOutcome = (text: string): EventOutcome =>
    (text.toLowerCase() === pair[0]) === isFailure ? 'SUCCESS' : 'FAILURE';
  return Object.fromEntries([...inCase, ...texts].map((text) => [text, toOutcome(text)]));
}

/** Words that mean success or failure if, and only if, their field is an outcome. */
const SUCCESS_WORDS =
  /^(?:succ|ok|okay|pass|yes|positive|good|valid|authorized|executed|finished)$/i;
const FAILURE_WORDS =
  /^(?:nok|ko|not ok|err|no|negative|bad|invalid|unauthori[sz]ed|exception|timeout|timed ?out|cancell?ed|disallow(?:ed)?|incorrect)$/i;

/** Maps those values of a field with the name of an outcome that are clear; null if none is. */
function mapWords({ meaning, texts }: Candidate): OutcomeMap | null {
  if (meaning.ranks.outcome < 0 || !texts.every(isWord)) return null;
  const entries = texts.flatMap((text): readonly (readonly [string, EventOutcome])[] => {
    if (SUCCESS_WORDS.test(text)) return [[text, 'SUCCESS']];
    const outcome = FAILURE_WORDS.test(text) ? 'FAILURE' : parseOutcome(text);
    return outcome === null ? [] : [[text, outcome]];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : null;
}

/**
 * Suggests words for success and failure under any name, flags with the name of a success or a failure, and fields with
 * the name of an outcome some of whose values are clear.
 */
export function suggestOutcome(candidates: readonly Candidate[]): readonly Suggestion[] {
  const own = candidates.filter(({ meaning }) => !meaning.isExcluded && !meaning.isInParty);
  const isOutcome = (value: unknown) =>
    typeof value === 'string' && isWord(value) && parseOutcome(value) !== null;
  const words = own.filter(
    ({ pointer, values }) => !isFailureFlag(pointer) && values.every(isOutcome),
  );
  const mapped = [mapFlag, mapWords].flatMap((toMap) =>
    own.flatMap((field) => {
      const map = toMap(field);
      if (map === null) return [];
      return {
        contract: { outcome: { at: field.pointer, map } },
        fields: [field],
        unmapped: [...new Set(field.texts)].filter((text) => !Object.hasOwn(map, text)),
      };
    }),
  );
  return [
    ...words.map((field) => ({ contract: { outcome: field.pointer }, fields: [field] })),
    ...mapped,
  ];
}

/** A user agent as browsers and libraries send it. Inference accepts it only under a name for one. */
const USER_AGENT = /^(?:Mozilla|Opera|Dalvik|curl|okhttp|python-requests|PostmanRuntime)\/\d/;

/** Suggests texts in the format of a user agent. */
export function suggestUserAgent(candidates: readonly Candidate[]): readonly Suggestion[] {
  return candidates
    .filter((field) => areAll(field, USER_AGENT))
    .map((field) => ({ contract: { userAgent: field.pointer }, fields: [field] }));
}
