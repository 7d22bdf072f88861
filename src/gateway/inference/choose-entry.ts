import { type ChosenEntry, type Contender, isOwnId, withoutOutranked } from './candidates.ts';
import { endsInClass, isDirect, partyOf } from './field-path.ts';
import type { RecordField } from './record-fields.ts';
import { classesOf } from './word-classes.ts';

/** A field, and the probability that it is what an entry means: from 0 to 1. */
export type RankedField = {
  readonly pointer: string;
  readonly confidence: number;
  /** Whether it is in a member of free form: it is right only if the service has written it, not the caller. */
  readonly isFree?: true;
};

/** The fields for an entry. */
export type Choice = {
  /** Those that are certain enough to be read, best first: each is the best of some record. At most three. */
  readonly chosen: readonly RankedField[];
  /** The best of the others, for a person to decide. At most three. */
  readonly others: readonly RankedField[];
};

/** From this confidence on, a field is more likely right than wrong. */
export const LIKELY = 0.5;

/** A field is shown from this confidence on. */
const POSSIBLE = 0.03;

/** Fields that are read for an entry, as records differ; and others that are shown. */
export const MAX_READ = 3;

/** A field with the sum of its weights for an entry. */
export type Scored = Contender & { readonly score: number };

/** The best of those that are not chosen, for a person to decide. */
export function listOthers(
  ranked: readonly RankedField[],
  chosen: readonly RankedField[],
): readonly RankedField[] {
  return ranked
    .filter(
      ({ pointer, confidence }) =>
        confidence >= POSSIBLE && chosen.every((one) => one.pointer !== pointer),
    )
    .toSorted((a, b) => b.confidence - a.confidence)
    .slice(0, MAX_READ);
}

/**
 * Chooses for each set of fields that records have: a softmax over the candidates and "none". A nested field that fewer
 * records have never makes one that more have less certain, and takes its place in no record that has both.
 * @param none the sum of the weights of "none".
 */
export function chooseForEntry(
  entry: ChosenEntry,
  contenders: readonly Scored[],
  none: number,
  presences: readonly string[],
  certain: number,
): Choice {
  const counted = contenders
    .map((one) => ({ ...one, count: countSets(one.field, presences) }))
    .toSorted((a, b) => b.score - a.score);
  const confidences = new Map<string, number>();
  const chosen = new Set<string>();
  for (const presence of presences) {
    const present = counted.filter(({ field }) => field.isInAll || presence.includes(field.mark));
    const counts = new Set(present.map(({ count }) => count));
    for (const count of [...counts].sort((a, b) => b - a)) {
      const some = present.filter((one) => one.count >= count);
      const [best, ...others] = weigh(entry, withoutOutranked(some), none);
      if (best === undefined) continue;
      for (const { pointer, confidence } of [best, ...others])
        confidences.set(pointer, Math.max(confidences.get(pointer) ?? 0, confidence));
      if (best.confidence < certain) continue;
      chosen.add(best.pointer);
      break;
    }
  }
  // A record with both has a value of each: that of the field in more sets comes first, then that of its own field.
  const ranked = counted
    .toSorted((a, b) => b.count - a.count || Number(b.rank === 'own') - Number(a.rank === 'own'))
    .map(({ field: { pointer } }) => ({ pointer, confidence: confidences.get(pointer) ?? 0 }));
  const read = ranked.filter(({ pointer }) => chosen.has(pointer)).slice(0, MAX_READ);
  return { chosen: read, others: listOthers(ranked, read) };
}

/** In how many sets of fields a field is. Fields of the record itself, such as `user` and `initiator`, are equal. */
function countSets({ mark, path, isInAll }: RecordField, presences: readonly string[]): number {
  return isInAll || isDirect(path)
    ? presences.length
    : presences.filter((one) => one.includes(mark)).length;
}

/**
 * The confidence of each field of a record; the best one comes first. Fields with its values and names of its party count
 * for it.
 */
function weigh(
  entry: ChosenEntry,
  sorted: readonly Scored[],
  none: number,
): readonly RankedField[] {
  const [top] = sorted;
  if (top === undefined) return [];
  const best = sorted.find(({ field }) => isDisplayName(entry, field, top.field)) ?? top;
  const total = sorted.reduce((sum, { score }) => sum + Math.exp(score), Math.exp(none));
  let ofBest = 0;
  const others: RankedField[] = [];
  for (const { field, score } of sorted) {
    const confidence = Math.exp(score) / total;
    if (isAlike(entry, field, best.field)) ofBest += confidence;
    if (field !== best.field) others.push({ pointer: field.pointer, confidence });
  }
  return [{ pointer: best.field.pointer, confidence: ofBest }, ...others];
}

/**
 * Whether either of two fields is right if one of them is: they have the same values, name the same party or identify it, or
 * the name of one is a longer form of the other, such as `event type` and `legacy event type`.
 */
function isAlike(entry: ChosenEntry, a: RecordField, b: RecordField): boolean {
  if (a.same === b.same || isSameName(entry, a, b)) return true;
  if (entry === 'id') return isOwnId(a.path) && isOwnId(b.path);
  const [[parent, one], [otherParent, other]] = [splitPath(a.path), splitPath(b.path)] as const;
  if (parent !== otherParent) return false;
  if (entry === 'action' && headOf(one) === headOf(other) && isOfAction(parent, headOf(one)))
    return true;
  if (entry.endsWith('.identifier'))
    return [a, b].every(({ path }) => endsInClass(path, ['id'])) && headOf(one) === headOf(other);
  const contains = (all: readonly string[], some: readonly string[]) =>
    some.every((word) => all.includes(word));
  return contains(one, other) || contains(other, one);
}

/** The path of the object that has a field, and the words of its key. */
function splitPath(path: string): readonly [parent: string, words: readonly string[]] {
  const end = path.lastIndexOf('/');
  return [path.slice(0, Math.max(end, 0)), path.slice(end + 1).split(' ')];
}

/** Whether a name begins with a word for what happened: of `event type` and `event name`, either is right. */
const isOfAction = (parent: string, head: string) =>
  (head || parent.slice(parent.lastIndexOf('/') + 1))
    .split(' ')
    .some((word) => classesOf(word).some((one) => one === 'action' || one === 'record'));

const headOf = (words: readonly string[]) => words.slice(0, -1).join(' ');

/** Whether two fields are names of the same party, as a name and an e-mail address are: either is right. */
function isSameName(entry: ChosenEntry, a: RecordField, b: RecordField): boolean {
  return entry.endsWith('.name') && partyOf(a.path) === partyOf(b.path);
}

/** Whether a field is the name of a party whose e-mail address is the best candidate. */
function isDisplayName(entry: ChosenEntry, field: RecordField, best: RecordField): boolean {
  return best.kind === 'e-mail' && isSameName(entry, field, best) && DISPLAY_NAME.test(field.path);
}

/** At the top, the word for the party is part of the name: `author name`. */
const DISPLAY_NAME =
  /(?:^\w+ |(?:^|\/))(?:(?:display|full|friendly|common) )?(?<!(?:first|last|middle) )name$/;
