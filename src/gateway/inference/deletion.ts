import { memoizeByObject } from '../../util/memoize.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import type { DeletionReading } from '../mapping/deletion.ts';
import { classifyNames, splitMemberName } from '../mapping/member-names.ts';
import {
  describesError,
  failureStatusesOf,
  isResourceState,
  MAX_LENGTH,
  type Member,
  reportedStatuses,
  reportsFailure,
  toMembers,
} from '../mapping/soft-failure.ts';
import { isObject, parseOutcome, toFlag } from '../mapping/values.ts';
import { NO, NO_VALUE, RESPONSE_NAMES } from '../mapping/vocabulary.ts';
import {
  DELETING_STATUS,
  DELETION_NAMES,
  FAILING,
  IMPERATIVE,
  LATER,
  NO_NOUN,
  NO_RESULT,
  NOT_FOUND_CODE,
  OWN_NOUN,
  PARTICIPLE,
  PENDING_STATUS,
  WHY_DELETED,
} from './deletion-words.ts';

/**
 * Infers what a 2xx response to a deletion means. Nothing was deleted if anything says so. Otherwise the key was, if a flag,
 * a count or a status says so, or if nothing says anything.
 * @param clientId may be the name of a member that holds the result: `{"ci-bot": false}`.
 */
export function inferDeletion(
  { status, body }: Pick<UpstreamResponse, 'status' | 'body'>,
  clientId: string,
): DeletionReading {
  const parts = listParts(body, clientId);
  const found = parts.flatMap((part) =>
    judge(part).map((finding) => ({ finding, pointer: part.pointer })),
  );
  const pointersOf = (...wanted: readonly Finding[]) => {
    const pointers = found.flatMap(({ finding, pointer }) =>
      wanted.includes(finding) ? pointer : [],
    );
    return pointers.length > 0 ? [...new Set(pointers)] : null;
  };
  const amounts = decisiveAmounts(
    found.flatMap(({ finding }) => (isAmount(finding) ? finding : [])),
  );
  const isDeleted = weigh(amounts);
  const undone = isDeleted === false ? amounts.filter(({ isSome }) => !isSome) : [];
  const whole = isNothing(unwrap(body)) ? [''] : null;
  const failed = pointersOf('FAILED', 'NOT_FOUND', ...undone) ?? whole;
  if (failed !== null) {
    const members = parts.map(({ member }) => member);
    // A client sends a deletion again whose token was refused: not if something says that it was done.
    const statuses =
      isDeleted === true ? members.flatMap(failureStatusesOf) : reportedStatuses(members);
    const isGone = statuses.every((status) => status === 404 || status === 410);
    const missing = statuses.length === 0 ? pointersOf('NOT_FOUND') : isGone ? failed : null;
    return missing !== null && isDeleted !== true
      ? { result: 'NOT_FOUND', at: missing, statuses }
      : { result: 'FAILED', at: failed, statuses };
  }
  const pending = isDeleted ? pointersOf('PENDING') : pointersOf('PENDING', 'LATER');
  if (pending !== null || status === 202) return { result: 'ACCEPTED', at: pending, statuses: [] };
  const done = pointersOf('DONE', ...amounts);
  const unknown = done === null ? pointersOf('UNKNOWN') : null;
  return { result: unknown ? null : 'DELETED', at: unknown ?? done, statuses: [] };
}

type Name = keyof typeof DELETION_NAMES;

/** A member of the body, at any depth. */
type Part = {
  readonly member: Member;
  readonly pointer: string;
  /** The name of the object or list that contains it. Empty: the body. */
  readonly parent: string;
  /** What contains it: the result, statistics, or a resource, such as the key as it was before. */
  readonly of: 'result' | 'statistics' | 'resource';
  readonly isListed: boolean;
  /** Whether there is an ID next to it, an array, or a number or a flag of something. */
  readonly hasId: boolean;
  readonly hasList: boolean;
  readonly hasSome: boolean;
  /** Whether it repeats the client ID. */
  readonly isEcho: boolean;
};

/** What a member says: of the deletion, or that it may say something. */
type Finding = 'FAILED' | 'NOT_FOUND' | 'PENDING' | 'LATER' | 'DONE' | 'UNKNOWN' | Amount;

/** Whether something was deleted. The lower the rank, the more likely it is the key. */
type Amount = { readonly rank: number; readonly isSome: boolean };

function isAmount(finding: Finding): finding is Amount {
  return typeof finding === 'object';
}

/** Objects and arrays within each other that are examined; items of an array; members in total. */
const [MAX_DEPTH, MAX_ITEMS, MAX_PARTS] = [7, 100, 2000];

const namesOf = classifyNames(DELETION_NAMES);

type Rule = readonly [Name, 'some' | 'none', Finding];

/** What a name says of a member that has something, or that is false or 0. */
const RULES: readonly Rule[] = [
  ['missing', 'some', 'NOT_FOUND'],
  ['found', 'none', 'NOT_FOUND'],
  ['trial', 'some', 'FAILED'],
  ['undone', 'some', 'FAILED'],
  ['skipped', 'some', { rank: 3, isSome: false }],
  ['pending', 'some', 'PENDING'],
  ['done', 'none', 'FAILED'],
];

/** Lists the members of a body, but not those in a resource, nor what repeats the query. */
function listParts(body: unknown, clientId: string): readonly Part[] {
  const parts: Part[] = [];
  const visit = (
    value: unknown,
    parent: string,
    pointer: string,
    depth: number,
    isListed: boolean,
  ) => {
    if (depth > MAX_DEPTH || parts.length > MAX_PARTS) return;
    if (Array.isArray(value))
      for (const [index, item] of value.slice(0, MAX_ITEMS).entries())
        visit(item, parent, `${pointer}/${index}`, depth + 1, true);
    const names = namesOf(parent);
    const textName = names.has('error') ? 'text' : parent || 'body';
    const texts = typeof value === 'string' ? [{ words: textName, value }] : [];
    const members = toMembers(value);
    const hasId = members.some(({ words }) => namesOf(words).has('id'));
    const hasList = members.some((member) => Array.isArray(member.value));
    const hasSome = members.some(
      (member) =>
        typeof member.value !== 'string' &&
        amountOf(member.value) === 'some' &&
        !namesOf(member.words).has('other'),
    );
    const described = members.filter(({ words }) => namesOf(words).has('describesResource')).length;
    // `{"deleted": {"id": "k", "revoked": false}}` has the key as it was.
    const isDeleted = names.has('participle');
    const isResource = described + Number(hasId) > 1 || (hasId && isDeleted);
    const isStatistics = RESPONSE_NAMES.statistics.test(parent);
    const of = isResource ? 'resource' : isStatistics ? 'statistics' : 'result';
    const context = {
      parent,
      of,
      isListed: isListed || isDeleted,
      hasId,
      hasList,
      hasSome,
    } as const;
    const add = (member: Member, at = pointer) =>
      parts.push({ member, pointer: at, isEcho: member.value === clientId, ...context });
    for (const text of isDeleted ? [] : texts) add(text);
    const own = isObject(value) && Object.hasOwn(value, clientId) ? value[clientId] : null;
    if (!isResource && typeof own !== 'object')
      for (const words of typeof own === 'string' ? ['result'] : ['deleted', 'result'])
        add({ words, value: own }, `${pointer}/${splitMemberName(clientId).pointerToken}`);
    for (const member of members) {
      const { pointerToken, words, value: inner } = member;
      const at = `${pointer}/${pointerToken}`;
      const isState = isResourceState(member) && (isResource || (hasId && depth > 0));
      if (!isState) add(member, at);
      if (isResource || RESPONSE_NAMES.excluded.test(words)) continue;
      if (typeof inner === 'object')
        visit(inner, names.has('error') ? parent : words, at, depth + 1, isListed);
    }
  };
  visit(body, '', '', 0, false);
  return parts;
}

function judge(part: Part): readonly Finding[] {
  const { member, parent, of, isListed } = part;
  const { words, value } = member;
  const names = namesOf(words);
  const isResource = of === 'resource';
  const isHttpFailure = failureStatusesOf(member).length > 0;
  if (isResource && isListed) return isHttpFailure ? ['FAILED'] : [];
  const amount = amountOf(value);
  const findings: Finding[] = RULES.filter(
    ([name, when]) => when === amount && names.has(name) && applies(name, member, isResource),
  ).map(([, , finding]) => finding);
  findings.push(...countDeleted(part, names, amount));
  if (!isResource && names.has('error') && describesError(value)) findings.push('FAILED');
  if (of === 'statistics') return findings;
  // A key may have had errors: `{"id": "k", "name": "ci", "errors": 3}`.
  const isNumber = typeof value === 'number' && !isHttpFailure;
  if (reportsFailure(member) && !(isResource && isNumber)) findings.push('FAILED');
  if (/\bcode$/.test(words) && typeof value === 'number' && value < 0) findings.push('FAILED');
  if (typeof value === 'string') findings.push(...judgeText(part, names, value));
  const isOpen = findings.length === 0 && isPlain(parent);
  return isOpen && (!isResource || names.has('complete'))
    ? judgeState(part, names, amount)
    : findings;
}

/** Whether a rule says something of this member, and not of what is in it or of something else. */
function applies(name: Name, { words, value }: Member, isResource: boolean): boolean {
  if (isResource) return name === 'missing' || name === 'trial';
  if (name === 'done' && isObject(value))
    return Object.values(value).every((inner) => inner === null);
  // `scheduled_deletion_at`, but not `pending_tasks: 3`
  return name !== 'pending' || typeof value === 'boolean' || /\bdelet/.test(words);
}

/** Whether an object of this name is about the deletion. */
function isPlain(parent: string): boolean {
  return namesOf(parent).has('plain');
}

/** What a member says of which nothing else is known: a status, or something that is false or 0. */
function judgeState(
  { member: { words, value }, hasId, hasList, hasSome, isEcho }: Part,
  names: ReadonlySet<Name>,
  amount: ReturnType<typeof amountOf>,
): readonly Finding[] {
  if (names.has('complete')) return amount === 'none' ? ['PENDING'] : ['DONE'];
  if (names.has('participle') && names.has('time') && value === null) return ['UNKNOWN'];
  const isAmount = names.has('wrapper') && /boolean|number/.test(typeof value);
  const isFlag = RESPONSE_NAMES.success.test(words) && toFlag(value) === true;
  if (isFlag || (isAmount && amount === 'some')) return ['DONE'];
  if (names.has('status') && value !== null && typeof value !== 'object' && value !== '') {
    const isDone = /^(?:0+|2\d\d(?:\d{2,3})?)$/.test(String(value)) || isSuccess(String(value));
    return isDone ? ['DONE'] : names.has('error') || isEcho ? [] : ['UNKNOWN'];
  }
  const isError = RESPONSE_NAMES.error.test(words);
  if (isEcho || isError || ABOUT_ELSE.some((name) => names.has(name))) return [];
  const isUnknown =
    (typeof value === 'boolean' && !hasId) ||
    (typeof value !== 'object' && names.has('count') && !hasList) ||
    (typeof value !== 'object' && amount === 'none' && !hasSome && !hasId && !names.has('count'));
  return isUnknown ? ['UNKNOWN'] : [];
}

/** Names that say something else, or have said what there is. */
const ABOUT_ELSE: readonly Name[] = ['other', 'error', 'text', ...RULES.map(([name]) => name)];

/** Whether a code says that it was done. */
function isSuccess(code: string): boolean {
  return parseOutcome(code) === 'SUCCESS' || PARTICIPLE.test(toWords(code));
}

/** Reads a code, or a sentence: if that has a negation or a word of failure, it may say that nothing was deleted. */
function judgeText(
  { member, parent, of }: Part,
  names: ReadonlySet<Name>,
  given: string,
): readonly Finding[] {
  const isOfError =
    names.has('error') || RESPONSE_NAMES.error.test(member.words) || namesOf(parent).has('error');
  if (isOfError && !describesError(given)) return [];
  const text = given.slice(0, MAX_LENGTH).trim();
  if (/^\d+$/.test(text)) return [];
  const code = toWords(text);
  if (names.has('status') && DELETING_STATUS.test(code)) return ['PENDING'];
  if (/\s/.test(text) && !(names.has('status') && NOT_FOUND_CODE.test(code))) {
    if (of === 'resource' && !names.has('text')) return [];
    const sentence = text.replace(QUOTED, '""');
    if (WHY_DELETED.test(member.words)) return [];
    if (FAILING.test(sentence)) return ['FAILED'];
    if (of !== 'result') return [];
    if (LATER.test(sentence)) return ['LATER'];
    if (PARTICIPLE.test(code) || /\b(?:success\w*|ok|completed?)\b/.test(code)) return ['DONE'];
    return /\berr/.test(member.words) ? ['UNKNOWN'] : [];
  }
  const isState = isPlain(parent) && (names.has('status') || names.has('participle'));
  if (of === 'result' && isState && PENDING_STATUS.test(code)) return ['PENDING'];
  const isOfResult =
    names.has('status') ||
    names.has('wrapper') ||
    isOfError ||
    (names.has('participle') && amountOf(text) === 'none') ||
    (names.has('type') && /error|exception|fault|fail|not ?found/.test(code));
  if (!names.has('text') && !(of === 'result' && isOfResult)) return [];
  if (NOT_FOUND_CODE.test(code)) return ['NOT_FOUND'];
  if (FAILING.test(code.replace(/\bnot (?:available|applicable)\b/, ''))) return ['FAILED'];
  if (namesOf(code).has('trial')) return ['FAILED'];
  return of === 'result' && isSuccess(text) ? ['DONE'] : [];
}

/** A quoted part of a sentence is a name. */
const QUOTED = /"[^"]*"|`[^`]*`|(?<=^|\s)['‘][^'’]*['’](?=$|[\s.,])/g;

/** A name or a code in words: `not found` for `NOT_FOUND`, `not-found` and `notFound`. */
function toWords(code: string): string {
  return code
    .slice(0, MAX_LENGTH)
    .replace(/[\s_.#:/-]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, ' ')
    .toLowerCase();
}

/** What a member says of the number of deleted things. */
function countDeleted(
  { member: { words, value }, parent, of, isListed, hasId, hasList }: Part,
  names: ReadonlySet<Name>,
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
  if (amount === null || amount === 'empty') return [];
  if (names.has('affected')) return [{ rank: Number(isListed), isSome }];
  if (!names.has('amount') || names.size > (names.has('count') ? 2 : 1)) return [];
  if (/^no (?!of )/.test(words)) return []; // `noChange`
  if (!isPlain(parent) || typeof value === 'object') return [];
  const isOther =
    (words.includes('succe') && typeof value === 'boolean') ||
    (words === 'count' && (hasId || hasList)) ||
    (of === 'statistics' && !words.includes(' '));
  return isOther ? [] : [{ rank: 3, isSome }];
}

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
function decisiveAmounts(amounts: readonly Amount[]): readonly Amount[] {
  const rank = Math.min(...amounts.map((amount) => amount.rank));
  return amounts.filter((amount) => amount.rank === rank);
}

/** Whether the key was deleted; null if no amount says. At rank 0 each must be some, at any other one. */
function weigh(decisive: readonly Amount[]): boolean | null {
  const [first] = decisive;
  if (first === undefined) return null;
  const isSome = (amount: Amount) => amount.isSome;
  return first.rank === 0 ? decisive.every(isSome) : decisive.some(isSome);
}

/** Whether a value is an amount of something, of nothing, or an empty list; null if it says neither. */
function amountOf(value: unknown): 'some' | 'none' | 'empty' | null {
  if (typeof value === 'boolean') return value ? 'some' : 'none';
  if (typeof value === 'number') return value > 0 ? 'some' : 'none';
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
function isNothing(body: unknown): boolean {
  if (Array.isArray(body))
    return (
      body.length === 0 || (body.some(isNothing) && body.every((item) => amountOf(item) !== 'some'))
    );
  return typeof body === 'string'
    ? /^(?:0+|false)$/i.test(body)
    : typeof body !== 'object' && amountOf(body) === 'none';
}

/** The value of the only member of a body that is not null, if its name is one of a wrapper; otherwise the body. */
function unwrap(body: unknown): unknown {
  const members = toMembers(body).filter(
    ({ words, value }) => value !== null && !/^(?:jsonrpc|id|odata context)$/.test(words),
  );
  const [only, ...others] = members;
  return only !== undefined && others.length === 0 && namesOf(only.words).has('wrapper')
    ? unwrap(only.value)
    : body;
}
