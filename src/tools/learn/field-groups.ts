import type { PartyPart } from '../../mapping/contract.ts';
import { areAll, type Candidate, isTimeText } from './candidates.ts';

/** Fields that describe one thing: `order_id` and `order_name`, or the members of `order`. */
export type Thing = {
  /** The words that name the thing, without those of its parts. */
  readonly noun: string;
  readonly depth: number;
  readonly parts: Readonly<Partial<Record<PartyPart, Candidate>>>;
  /** Whether a part has a name of its own, such as `order id`, not only that of the thing. */
  readonly isNamed: boolean;
};

/** The last words of the parts of a thing, the best of a part first. */
const PARTS: readonly (readonly [PartyPart, RegExp])[] = [
  ['identifier', /(?:^| )(?:[a-z]?id|uuid|guid|arn|urn|key|identifier)$/],
  ['identifier', /(?:^| )(?:number|num|no|nr|ref|reference|code|cd)$/],
  ['name', /(?:^| )(?:(?:display |full |friendly )?name|nm)$/],
  ['name', /(?:^| )(?:user name|login name|principal|email(?: address)?|login|handle|upn)$/],
  ['name', /(?:^| )(?:label|title)$/],
  ['type', /(?:^| )(?:type|kind|class|tag)(?: name)?$/],
];

/** The part that a field with some words is, and the words before those of the part; null without a name of a part. */
export function splitPart(words: string) {
  const index = PARTS.findIndex(([, end]) => end.test(words));
  const [part, end] = PARTS[index] ?? [];
  if (part === undefined || end === undefined) return null;
  return { part, noun: words.replace(end, ''), rank: index };
}

/** Whether a field can be a part of a party: a short text or a number, but neither a time nor an address. */
export function canBePart(field: Candidate): boolean {
  const { isScalar, isSecret, texts } = field;
  if (!isScalar || isSecret || isTimeText(field) || areAll(field, ADDRESS)) return false;
  return texts.every((text) => text.length <= MAX_LENGTH && !/^(?:[{[]|https?:)/.test(text));
}

const MAX_LENGTH = 300;
const ADDRESS = /^(?:\d{1,3}(?:\.\d{1,3}){3}|[\da-f:]*::[\da-f:]*)(?::\d+)?$/i;

/** Groups fields by the thing that they describe. Of several fields for a part, the best counts. */
export function groupByThing(candidates: readonly Candidate[]): readonly Thing[] {
  const fields = candidates.filter(canBePart).map((field) => {
    const { words } = field.meaning;
    const split = splitPart(words);
    if (split !== null && split.noun !== '') return { field, ...split, isNamed: true };
    const part: PartyPart = areAll(field, /^\d+$/) ? 'identifier' : 'name';
    return { field, part, noun: words, rank: PARTS.length, isNamed: false };
  });
  return [...Map.groupBy(fields, ({ noun }) => noun)].map(([noun, members]) => {
    const worstFirst = members.toSorted((a, b) => b.rank - a.rank);
    return {
      noun,
      depth: Math.min(...members.map(({ field }) => field.depth)),
      parts: Object.fromEntries(worstFirst.map(({ part, field }) => [part, field])),
      isNamed: members.some(({ isNamed }) => isNamed),
    };
  });
}
