import type { UpstreamResponse } from '../upstream/types.ts';
import { classifyNames } from './member-names.ts';
import {
  describesError,
  failureStatusesOf,
  isResourceState,
  type Member,
  reportedStatuses,
  reportsFailure,
  toMembers,
  toSoftFailure,
} from './soft-failure.ts';
import { isObject, parseOutcome } from './values.ts';
import {
  DELETING_STATUS,
  DELETION_NAMES,
  DELETION_TEXTS,
  FAILED_CODE,
  IMPERATIVE,
  NO,
  NO_NOUN,
  NO_RESULT,
  NO_VALUE,
  NOT_FOUND_CODE,
  OWN_NOUN,
  PARTICIPLE,
  PENDING_STATUS,
  RESPONSE_NAMES,
} from './vocabulary.ts';

/** How far a deletion has got. */
export type DeletionOutcome = 'DELETED' | 'ACCEPTED';

/**
 * Reads the response to a deletion: ACCEPTED after HTTP 202, or if its body says that the deletion is not complete.
 * @param clientId may be the name of a member that holds the result: `{"ci-bot": false}`.
 * @throws GatewayError if the body says that nothing was deleted: NOT_FOUND if it says so in words, else see
 * `toSoftFailure`.
 */
export function readDeletionOutcome(
  { status, body }: Pick<UpstreamResponse, 'status' | 'body'>,
  clientId: string,
): DeletionOutcome {
  if (body === null || body === undefined) return status === 202 ? 'ACCEPTED' : 'DELETED';
  const parts = listParts(body, clientId);
  const findings = parts.flatMap(judge);
  const has = (finding: Finding) => findings.includes(finding);
  const isDeleted = weigh(findings.filter((finding) => typeof finding === 'object'));
  const isUndone = isDeleted === false || (isDeleted === null && has('SKIPPED'));
  if (has('FAILURE') || has('NOT_FOUND') || isUndone || isNothing(unwrap(body))) {
    const members = parts.map(({ member }) => member);
    // A client sends a deletion again whose token was refused: not if something says that it was done.
    const statuses =
      isDeleted === true ? members.flatMap(failureStatusesOf) : reportedStatuses(members);
    const isNotFound = has('NOT_FOUND') && isDeleted !== true && statuses.length === 0;
    throw toSoftFailure(status, isNotFound ? [404] : statuses, 'deletion');
  }
  return status === 202 || has('PENDING') ? 'ACCEPTED' : 'DELETED';
}

type Name = keyof typeof DELETION_NAMES;

/** A member of the body, at any depth. */
type Part = {
  readonly member: Member;
  /** The name of the object or list that contains it. Empty: the body. */
  readonly parent: string;
  /** What contains it: the result, statistics, or a resource, such as the key as it was before. */
  readonly of: 'result' | 'statistics' | 'resource';
  readonly isListed: boolean;
  /** Whether there is an ID next to it, and whether there is an array. */
  readonly hasId: boolean;
  readonly hasList: boolean;
};

type Finding = 'FAILURE' | 'NOT_FOUND' | 'SKIPPED' | 'PENDING' | Amount;

/** Whether something was deleted. The lower the rank, the more likely it is the key. */
type Amount = { readonly rank: number; readonly isSome: boolean };

/** Objects and arrays within each other that are examined; items of an array; members in total. */
const [MAX_DEPTH, MAX_ITEMS, MAX_PARTS] = [7, 100, 2000];

const namesOf = classifyNames(DELETION_NAMES);

/** What a name says of a member that has something, or that is false or 0. */
const RULES: readonly (readonly [Name, 'some' | 'none', Finding])[] = [
  ['missing', 'some', 'NOT_FOUND'],
  ['found', 'none', 'NOT_FOUND'],
  ['trial', 'some', 'FAILURE'],
  ['undone', 'some', 'FAILURE'],
  ['skipped', 'some', 'SKIPPED'],
  ['done', 'none', 'FAILURE'],
];

/** Lists the members of a body, but not those in a resource, nor what repeats the query. */
function listParts(body: unknown, clientId: string): readonly Part[] {
  const parts: Part[] = [];
  const visit = (value: unknown, parent: string, depth: number, isListed: boolean) => {
    if (depth > MAX_DEPTH || parts.length > MAX_PARTS) return;
    if (Array.isArray(value))
      for (const item of value.slice(0, MAX_ITEMS)) visit(item, parent, depth + 1, true);
    const names = namesOf(parent);
    const isText = parent === '' || names.has('error') || names.has('message');
    const texts = typeof value === 'string' && isText ? [{ words: 'message', value }] : [];
    const members = [...texts, ...toMembers(value)];
    const hasId = members.some(({ words }) => namesOf(words).has('id'));
    const hasList = members.some((member) => Array.isArray(member.value));
    const described = members.filter(({ words }) => namesOf(words).has('describesResource')).length;
    // `{"deleted": {"id": "k", "revoked": false}}` has the key as it was.
    const isDeleted = names.has('participle');
    const isResource = described + Number(hasId) > 1 || (hasId && isDeleted);
    const isStatistics = RESPONSE_NAMES.statistics.test(parent);
    const of = isResource ? 'resource' : isStatistics ? 'statistics' : 'result';
    const context = { parent, of, isListed: isListed || isDeleted, hasId, hasList } as const;
    const own = isObject(value) && Object.hasOwn(value, clientId) ? value[clientId] : null;
    if (!isResource && typeof own !== 'object')
      for (const words of ['deleted', 'result'])
        parts.push({ member: { words, value: own }, ...context });
    for (const member of members) {
      const { words, value: inner } = member;
      const isState = isResourceState(member) && (isResource || (hasId && depth > 0));
      if (!isState) parts.push({ member, ...context });
      if (isResource) continue;
      if (typeof inner === 'object' && !RESPONSE_NAMES.excluded.test(words))
        visit(inner, names.has('error') ? parent : words, depth + 1, isListed);
    }
  };
  visit(body, '', 0, false);
  return parts;
}

function judge(part: Part): readonly Finding[] {
  const { member, parent, of, isListed } = part;
  const { words, value } = member;
  const names = namesOf(words);
  const isResource = of === 'resource';
  const isHttpStatus = failureStatusesOf(member).length > 0;
  if (isResource && isListed) return isHttpStatus ? ['FAILURE'] : [];
  const amount = amountOf(value);
  const findings: Finding[] = RULES.filter(
    ([name, when]) =>
      when === amount && names.has(name) && (!isResource || name === 'missing' || name === 'trial'),
  ).map(([, , finding]) => finding);
  findings.push(...countDeleted(part, names, amount));
  if (!isResource && names.has('error') && describesError(value)) findings.push('FAILURE');
  if (of === 'statistics') return findings;
  if (!isResource && isPlain(parent) && names.has('complete') && amount === 'none')
    findings.push('PENDING');
  // A key may have had errors: `{"id": "k", "name": "ci", "errors": 3}`.
  const isNumber = typeof value === 'number' && !isHttpStatus;
  if (reportsFailure(member) && !(isResource && isNumber)) findings.push('FAILURE');
  if (/\bcode$/.test(words) && typeof value === 'number' && value < 0) findings.push('FAILURE');
  return typeof value === 'string' ? [...findings, ...judgeText(part, names, value)] : findings;
}

/** Whether an object of this name is about the deletion. */
function isPlain(parent: string): boolean {
  return namesOf(parent).has('plain');
}

function judgeText(
  { parent, of, hasId }: Part,
  names: ReadonlySet<Name>,
  text: string,
): readonly Finding[] {
  const word = toWords(text);
  if (names.has('status') && DELETING_STATUS.test(word)) return ['PENDING'];
  const isState =
    of === 'result' && isPlain(parent) && (names.has('status') || names.has('participle'));
  if (isState && PENDING_STATUS.test(word)) return ['PENDING'];
  const isResult =
    (['status', 'wrapper', 'error'] as const).some((name) => names.has(name)) ||
    namesOf(parent).has('error') ||
    (names.has('participle') && amountOf(text) === 'none') ||
    (names.has('type') && /error|exception|fault|fail|not ?found/.test(word)) ||
    (names.has('description') && !hasId);
  const finding = names.has('message') || (of === 'result' && isResult) ? readText(text) : null;
  return finding === null ? [] : [finding];
}

/** Longer texts are cut. */
const MAX_LENGTH = 1000;

/** Reads a text or a code about a deletion; null if it says nothing of it, or that it was done. A quoted part is a name. */
function readText(given: string): 'NOT_FOUND' | 'FAILURE' | 'PENDING' | null {
  const text = given.slice(0, MAX_LENGTH).trim();
  if (/\s/.test(text))
    return readProse(text.replace(/"[^"]*"|`[^`]*`|(?<=^|\s)['‘][^'’]*['’](?=$|[\s.,])/g, '""'));
  const code = toWords(text);
  if (NOT_FOUND_CODE.test(code)) return 'NOT_FOUND';
  return FAILED_CODE.test(code) ? 'FAILURE' : readProse(code);
}

/** A name or a code in words: `not found` for `NOT_FOUND`, `not-found` and `notFound`. */
function toWords(code: string): string {
  return code
    .slice(0, MAX_LENGTH)
    .replace(/[\s_-]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, ' ')
    .toLowerCase();
}

function readProse(text: string): ReturnType<typeof readText> {
  const { undone, done, notFound, denied, failed, pending } = DELETION_TEXTS;
  const rest = text.replace(undone, (match) => ' '.repeat(match.length));
  const [doneAt, notFoundAt] = [rest.search(done), text.search(notFound)];
  if (notFoundAt >= 0 && (doneAt < 0 || doneAt > notFoundAt))
    return denied.test(text) ? 'FAILURE' : 'NOT_FOUND';
  if (rest !== text) return 'FAILURE';
  if (doneAt >= 0) return null;
  if (denied.test(text) || failed.test(text) || parseOutcome(text) === 'FAILURE') return 'FAILURE';
  return pending.test(text) ? 'PENDING' : null;
}

/** What a member says of the number of deleted things. Rows of several statements, in a list, may be 0. */
function countDeleted(
  { member: { words, value }, parent, of, isListed, hasId, hasList }: Part,
  names: ReadonlySet<Name>,
  amount: ReturnType<typeof amountOf>,
): readonly Amount[] {
  const isSome = amount === 'some';
  if (of === 'resource') {
    const isFlag = /^(?:is )?(?:deleted|removed|destroyed)$/.test(words);
    const isResult = isFlag || (names.has('rows') && words.includes('affected'));
    return isResult && amount === 'none' ? [{ rank: 0, isSome }] : [];
  }
  if (names.has('rows') || (names.has('plainRows') && isPlain(parent))) {
    // Python's -1 is an unknown number of rows.
    const isUnknown = typeof value === 'number' && value < 0;
    return isUnknown || amount === null || amount === 'empty'
      ? []
      : [{ rank: Number(isListed), isSome }];
  }
  if (names.has('otherRows')) {
    const isSuccess = words.includes('succe');
    const isOther =
      (isSuccess ? typeof value === 'boolean' : typeof value === 'object') ||
      (words === 'count' && (hasId || hasList)) ||
      (of === 'statistics' && !words.includes(' '));
    return isOther || amount === null || !isPlain(parent) ? [] : [{ rank: 3, isSome }];
  }
  const rank = rankOf(words, value);
  if (rank === null) return [];
  if (names.has('time')) return isSome ? [{ rank: 2, isSome }] : [];
  // Without an ID, null is a list (Go), or the ID of what was not deleted.
  if (amount === null && (value !== null || hasId)) return [];
  return [{ rank, isSome }];
}

/** The rank of a name with a verb of a deletion; null for others. */
function rankOf(words: string, value: unknown): number | null {
  const participle = PARTICIPLE.exec(words);
  const verb = participle ?? IMPERATIVE.exec(words);
  if (verb === null || NO_RESULT.test(words)) return null;
  // An object with the name of a mutation contains its result: `{"deleteKey": {"ok": true}}`.
  if (participle === null && (typeof value === 'string' || isObject(value))) return null;
  const noun = words.replace(verb[0], '').replace(NO_NOUN, '');
  if (verb[1] !== undefined || !OWN_NOUN.test(noun)) return 2;
  return noun.trim() === '' ? 0 : 1;
}

/** Whether the key was deleted; null if no amount says. Those of the lowest rank decide; at rank 0, each must be some. */
function weigh(amounts: readonly Amount[]): boolean | null {
  const rank = Math.min(...amounts.map((amount) => amount.rank));
  const decisive = amounts.filter((amount) => amount.rank === rank);
  if (decisive.length === 0) return null;
  return rank === 0
    ? decisive.every(({ isSome }) => isSome)
    : decisive.some(({ isSome }) => isSome);
}

/** Whether a value is an amount of something, of nothing, or an empty list; null if it says neither. */
function amountOf(value: unknown): 'some' | 'none' | 'empty' | null {
  if (typeof value === 'boolean') return value ? 'some' : 'none';
  if (typeof value === 'number') return value > 0 ? 'some' : 'none';
  if (typeof value === 'string') {
    if (NO_VALUE.test(value)) return null;
    return NO.test(value) || /^not[A-Z]/.test(value) ? 'none' : 'some';
  }
  if (typeof value !== 'object' || value === null) return null;
  const items: readonly unknown[] = Object.values(value);
  if (items.length === 0) return 'empty';
  const isZero = (item: unknown) =>
    Array.isArray(value)
      ? /^(?:boolean|number)$/.test(typeof item) && amountOf(item) === 'none'
      : amountOf(item) !== 'some';
  return items.every(isZero) ? 'none' : 'some';
}

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
