import { memoizeByObject } from '../../util/memoize.ts';
import { isObject, toFlag } from './values.ts';
import { type Name, namesOf, type Part, toMembers } from './verdict-parts.ts';
import { IMPERATIVE, NO_NOUN, NO_RESULT, OWN_NOUN, PARTICIPLE } from './verdict-words.ts';
import { NO, NO_VALUE } from './vocabulary.ts';

/** Whether something was deleted. The lower the rank, the more likely it is the key. */
export type Amount = { readonly rank: number; readonly isSome: boolean };

/** What a member says of the number of deleted things. */
export function countDeleted(
  { member: { words, value }, names, parent, of, isListed, hasId, hasList }: Part,
  amount: ReturnType<typeof amountOf>,
): readonly Amount[] {
  const isSome = amount === 'some';
  if (of === 'resource') {
    const isFlag = /^(?:is )?(?:deleted|removed|destroyed)$/.test(words);
    return isFlag && amount === 'none' ? [{ rank: 0, isSome }] : [];
  }
  const rank = rankOf(words, value);
  if (rank !== null && names.has('time')) return isSome ? [{ rank: 2, isSome }] : [];
  // Without an ID, null is a list (Go), or the ID of what was not deleted.
  if (rank !== null) return amount !== null || (value === null && !hasId) ? [{ rank, isSome }] : [];
  if (words.includes('succe') && Array.isArray(value))
    return [{ rank: 3, isSome: value.length > 0 }];
  if (names.has('affected') && amount === 'empty') return [{ rank: 1, isSome: false }];
  if (amount === null || amount === 'empty') return [];
  if (names.has('affected')) return [{ rank: Number(isListed), isSome }];
  if (!names.has('amount') || ABOUT_ELSE.some((name) => names.has(name))) return [];
  if (/^no (?!of )/.test(words)) return []; // `noChange`
  if (!parent.has('plain') || typeof value === 'object') return [];
  const isOther =
    // A flag has the name of an adjective.
    (typeof value === 'boolean' && (words.includes('succe') || !/ed$/.test(words))) ||
    (words === 'count' && (hasId || hasList)) ||
    (of === 'statistics' && !words.includes(' '));
  return isOther ? [] : [{ rank: 3, isSome }];
}

/** Names that are of something else than a number of rows. */
const ABOUT_ELSE: readonly Name[] = [
  ...(['text', 'error', 'time', 'missing', 'pending', 'trial', 'undone', 'other', 'part'] as const),
];

/** The rank of a name with a verb of a deletion: alone, with a noun for a key, with another; null without a verb. */
function rankOf(words: string, value: unknown): 0 | 1 | 2 | null {
  const participle = PARTICIPLE.exec(words);
  const verb = participle ?? IMPERATIVE.exec(words);
  if (verb === null || NO_RESULT.test(words)) return null;
  // An object with the name of a mutation contains its result: `{"deleteKey": {"ok": true}}`.
  if (participle === null && (typeof value === 'string' || isObject(value))) return null;
  const noun = words.replace(verb[0], '').replace(NO_NOUN, '');
  if (verb[1] !== undefined || !OWN_NOUN.test(noun)) return 2;
  return noun.trim() === '' ? 0 : 1;
}

/** The amounts of the lowest rank. */
export function decisiveAmounts(amounts: readonly Amount[]): readonly Amount[] {
  const rank = Math.min(...amounts.map((amount) => amount.rank));
  return amounts.filter((amount) => amount.rank === rank);
}

/** Whether the key was deleted; null if no amount says. At rank 0 each must be some, at any other one. */
export function weigh(decisive: readonly Amount[]): boolean | null {
  const [first] = decisive;
  if (first === undefined) return null;
  const isSome = (amount: Amount) => amount.isSome;
  return first.rank === 0 ? decisive.every(isSome) : decisive.some(isSome);
}

/** Whether a value is an amount of something, of nothing, or an empty list; null if it says neither. */
export function amountOf(value: unknown): 'some' | 'none' | 'empty' | null {
  if (typeof value === 'boolean') return value ? 'some' : 'none';
  if (typeof value === 'number') return value > 0 ? 'some' : value === 0 ? 'none' : null;
  if (typeof value === 'string') {
    if (NO_VALUE.test(value)) return null;
    return NO.test(value) || toFlag(value) === false || /^not[A-Z]/.test(value) ? 'none' : 'some';
  }
  return typeof value !== 'object' || value === null ? null : amountOfItems(value);
}

/** Once per object: each one that contains it asks. */
const amountOfItems = memoizeByObject((value: object) => {
  const items: readonly unknown[] = Object.values(value);
  if (items.length === 0) return 'empty';
  const isZero = (item: unknown) =>
    Array.isArray(value)
      ? /^(?:boolean|number)$/.test(typeof item) && amountOf(item) === 'none'
      : amountOf(item) !== 'some';
  return items.every(isZero) ? 'none' : 'some';
});

/** Whether a whole body is a zero or an empty list: the number of deleted rows, or the rows. Also `[0, {}]` (Django). */
export function isNothing(body: unknown): boolean {
  if (Array.isArray(body))
    return (
      body.length === 0 || (body.some(isNothing) && body.every((item) => amountOf(item) !== 'some'))
    );
  return typeof body === 'string'
    ? /^(?:0+|false)$/i.test(body)
    : typeof body !== 'object' && amountOf(body) === 'none';
}

/** The value of the only member of a body that is not null, if its name is one of a wrapper; otherwise the body. */
export function unwrap(body: unknown): unknown {
  const members = toMembers(body).filter(
    ({ words, value }) => value !== null && !/^(?:jsonrpc|id|odata context)$/.test(words),
  );
  const [only, ...others] = members;
  return only !== undefined && others.length === 0 && namesOf(only.words).has('wrapper')
    ? unwrap(only.value)
    : body;
}
