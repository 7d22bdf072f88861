import type { CallKind } from '../upstream/status.ts';
import { type Amount, amountOf, countDeleted } from './deleted-amounts.ts';
import { readSentence } from './sentence.ts';
import { isEmpty, isObject, parseOutcome, toFlag } from './values.ts';
import {
  type Judged,
  type Member,
  type Name,
  type Names,
  namesOf,
  type Part,
  type Says,
  statusesOf,
  toMembers,
} from './verdict-parts.ts';
import {
  DELETING_STATUS,
  FAILING,
  NO_ERROR,
  NOT_FOUND_CODE,
  NOTHING_WRONG,
  PARTICIPLE,
  PENDING_STATUS,
  REFUSED_TOKEN,
  SUCCESS_CODE,
  WHY_DELETED,
} from './verdict-words.ts';
import { HTTP_FAILURE, NEGATION, NO, NO_VALUE, NOT_EXECUTED } from './vocabulary.ts';

/** What a member says; the number of something that was or was not deleted; or what a sentence says. */
export type Finding = Exclude<Says, 'NOTHING'> | 'ONE' | 'SILENT' | Amount | Sentence;

/** What a sentence says. It decides only if no member does. */
export type Sentence = { readonly sentence: ReturnType<typeof readSentence> };

/** Longer texts are cut, in characters. */
const MAX_LENGTH = 1000;

/** Whether a finding is a number of something. */
export const isAmount = (finding: Finding): finding is Amount =>
  typeof finding === 'object' && 'rank' in finding;
/** Whether a finding is what a sentence says. */
export const isSentence = (finding: Finding): finding is Sentence =>
  typeof finding === 'object' && 'sentence' in finding;

type Rule = readonly [Name, 'some' | 'none', Finding];

/** What a name says of a member that has something, or that is false or 0: of a deletion. */
const RULES: readonly Rule[] = [
  ['missing', 'some', 'ABSENT'],
  ['trial', 'some', 'FAILED'],
  ['undone', 'some', 'FAILED'],
  ['pending', 'some', 'LATER'],
  ['done', 'none', 'FAILED'],
];

/** What one member says of the result. SILENT: nothing. An empty list: nothing that a rule understands. */
export function judgePart(part: Part, { operation }: Judged): readonly Finding[] {
  const { member, names, of, isListed } = part;
  const { value } = member;
  const isDeletion = operation === 'deletion';
  const isResource = of === 'resource';
  if (isResource && isListed) return statusesOf(part).length > 0 ? ['FAILED'] : ['SILENT'];
  const amount = amountOf(value);
  const findings: Finding[] = [];
  if (isDeletion) {
    const rules = RULES.filter(
      ([name, when]) => when === amount && names.has(name) && applies(name, member, isResource),
    );
    findings.push(...rules.map(([, , finding]) => finding), ...countDeleted(part, amount));
  } else if (
    !isResource &&
    amount === 'some' &&
    /boolean/.test(typeof value) &&
    names.has('undone')
  )
    findings.push('FAILED');
  if (names.has('part') && amount === 'some' && typeof value === 'boolean' && !isResource)
    findings.push('PART');
  if (!isResource && names.has('error') && !(of === 'statistics' && !isDeletion))
    findings.push(...judgeError(value, operation));
  if (of === 'statistics') return findings.length > 0 ? findings : ['SILENT'];
  const isErrorFlag = names.has('error') && typeof value === 'boolean';
  const status = isResource || isErrorFlag ? [] : judgeStatus(part, isDeletion);
  if (refusesToken(part, isDeletion)) findings.push('REFUSED_TOKEN');
  findings.push(...status);
  if (typeof value === 'string' && status.length === 0)
    findings.push(...judgeText(part, operation));
  if (findings.length > 0) return findings;
  if (isResource) return names.has('complete') && amount === 'none' ? ['LATER'] : ['SILENT'];
  return judgeRest(part, isDeletion, amount);
}

/** Whether a rule says something of this member, and not of what is in it or of something else. */
function applies(name: Name, { words, value }: Member, isResource: boolean): boolean {
  if (isResource) return name === 'missing' || name === 'trial';
  if (name === 'done' && isObject(value))
    return Object.values(value).every((inner) => inner === null);
  // `scheduled_deletion_at`, but not `pending_tasks: 3`
  return name !== 'pending' || typeof value === 'boolean' || /\bdelet/.test(words);
}

/** What the value of a member that describes an error says. */
function judgeError(value: unknown, operation: CallKind): readonly Finding[] {
  if (saysNothingWrong(value, operation)) return [];
  if (describesError(value)) return ['FAILED'];
  return value === false || value === 0 ? ['DONE'] : [];
}

/** Whether a text beside an empty list says that there is nothing to list. */
function saysNothingWrong(value: unknown, operation: CallKind): boolean {
  return operation === 'read' && typeof value === 'string' && NOTHING_WRONG.test(value);
}

/** Whether the value of a member that describes an error means that there is one. */
function describesError(value: unknown): boolean {
  if (!isObject(value)) return isError(value);
  const { code } = value;
  const hasCode = typeof code === 'number' || (typeof code === 'string' && code !== '');
  if (!hasCode || isError(code)) return Object.values(value).some(isError);
  // Beside a code of success an ID is no error: `{"code": "ok", "message": "", "log_id": "x"}`.
  return toMembers(value).some((member) => !/\bid$/.test(member.words) && isError(member.value));
}

function isError(value: unknown): boolean {
  return typeof value === 'object' && value !== null
    ? !isEmpty(value)
    : !NO_ERROR.test(String(value).slice(0, MAX_LENGTH)); // its time is the square of the length
}

/** Whether a code, or a short text, says that the token is refused. In the response to a deletion, one that is revoked is gone. */
function refusesToken({ member: { value }, names, of }: Part, isDeletion: boolean): boolean {
  const isOfError = names.has('error') || of === 'error';
  if (typeof value !== 'string' || value.length > 80 || of === 'resource') return false;
  if (!isOfError && !names.has('text') && !names.has('status')) return false;
  const code = toWords(value);
  return REFUSED_TOKEN.test(code) && (isOfError || !isDeletion || !/\brevoked\b/.test(code));
}

/** What a flag of success, or a status or a code that is a number, a flag or one of HTTP, says. */
function judgeStatus(
  { member: { value }, names, pointer, isEcho }: Part,
  isDeletion: boolean,
): readonly Finding[] {
  if (value === null || typeof value === 'object' || value === '' || isEcho) return [];
  const text = String(value).trim();
  const isRefusal =
    parseOutcome(value) === 'FAILURE' || (typeof value === 'string' && NOT_EXECUTED.test(text));
  if (names.has('success')) {
    if (isRefusal || NEGATION.test(text) || NO.test(text)) return ['FAILED'];
    if (toFlag(value) === true || SUCCESS_CODE.test(text.toLowerCase())) return ['DONE'];
    return isDeletion && names.has('amount') ? [] : ['UNKNOWN'];
  }
  if (!names.has('status') || (typeof value === 'number' && /results$/i.test(pointer))) return [];
  if (NOT_FOUND_CODE.test(toWords(text))) return ['ABSENT'];
  if (isRefusal || HTTP_FAILURE.test(text)) return ['FAILED'];
  if (typeof value === 'boolean') return [value ? 'DONE' : 'FAILED'];
  if (isDeletion && names.has('wrapper') && typeof value === 'number')
    return value === 1 ? ['DONE'] : value === 0 ? [] : ['UNKNOWN'];
  if (/^(?:0+|2\d\d|2\d\d?00)$/.test(text)) return ['DONE'];
  if (text === '1') return ['ONE'];
  return /^[-+]?\d+$/.test(text) ? ['UNKNOWN'] : [];
}

/** Reads a code in words, or a sentence. */
function judgeText(part: Part, operation: CallKind): readonly Finding[] {
  const { member, names, parent, of } = part;
  const { words, value } = member;
  const given = String(value).slice(0, MAX_LENGTH).trim();
  const isDeletion = operation === 'deletion';
  const isOfError = names.has('error') || of === 'error';
  if (given === '' || NO_VALUE.test(given) || part.isEcho) return ['SILENT'];
  if (!isCodeName(names) && saysNothingWrong(given, operation)) return [{ sentence: 'DONE' }];
  if (isOfError && !names.has('status') && !describesError(given)) return ['SILENT'];
  if (/^[-+]?\d+$/.test(given)) return [];
  const code = toWords(given);
  const isText = names.has('text');
  const statement = isDeletion && isPlainText(part) ? /^DELETE (\d+)$/.exec(given) : null;
  if (statement !== null) return [{ rank: 0, isSome: statement[1] !== '0' }];
  const isCode = isCodeName(names);
  if (names.has('state') && DELETING_STATUS.test(code)) return ['LATER'];
  const isSentence = /[\s\p{Script=Han}]/u.test(given) && !(isCode && NOT_FOUND_CODE.test(code));
  if (isSentence) {
    if (WHY_DELETED.test(words)) return ['SILENT'];
    // A key has a description, and no message.
    if (of === 'resource' && !/\b(?:message|msg)$/.test(words)) return [];
    if (isOfError) return isText || names.has('error') ? [] : ['UNKNOWN'];
    if (!isText && !isCode && !isPlainText(part)) return [];
    const says = readSentence(given);
    return isCode && says === 'UNKNOWN' ? ['UNKNOWN'] : [{ sentence: says }];
  }
  const isPlain = parent.has('plain');
  if (of === 'resource' && !/\b(?:message|msg)$/.test(words)) return [];
  if (isCode && isPlain && PENDING_STATUS.test(code)) return ['LATER'];
  const isTyped = names.has('type') && /error|exception|fault|fail|not ?found/.test(code);
  const isOfResult =
    isCode ||
    (isDeletion && names.has('wrapper')) ||
    isOfError ||
    (isDeletion && names.has('participle') && amountOf(given) === 'none') ||
    isTyped;
  if (!isText && !isOfResult && !isPlainText(part)) return [];
  if (operation === 'login' && STEP.test(code)) return ['SILENT'];
  if (NOT_FOUND_CODE.test(code)) return ['ABSENT'];
  if (FAILING.test(code.replace(/\bnot (?:available|applicable)\b/, ''))) return ['FAILED'];
  if (isDeletion && namesOf(code).has('trial')) return ['FAILED'];
  if (isOfError) return [];
  if (PARTICIPLE.test(code) || SUCCESS_CODE.test(code)) return ['DONE'];
  if (isDeletion && names.has('wrapper') && !isCode) return [];
  if (isText && !isCode) return [{ sentence: 'UNKNOWN' }];
  return ['UNKNOWN'];
}

const isCodeName = (names: Names) => names.has('status') || names.has('success');

/** A step that a login asks for: see `findStep`. */
const STEP = /\b(?:mfa|2fa|otp|totp|challenge|factor|required|verification|verify)\b/;

/** Whether a text is the whole body, or an item of it. */
const isPlainText = ({ member, pointer }: Part) => member.words === 'text' && !/\/\D/.test(pointer);

/** What a member says of which nothing else is known: a flag, or the whole body. */
function judgeRest(
  { member: { words, value }, names, parent, hasId, hasList, hasNext, isEcho }: Part,
  isDeletion: boolean,
  amount: ReturnType<typeof amountOf>,
): readonly Finding[] {
  if (words === 'whole') return judgeWhole(value, isDeletion);
  if (names.has('complete') && parent.has('plain'))
    return [amount !== 'none' ? 'DONE' : hasNext ? 'SILENT' : 'LATER'];
  if (isEcho) return ['SILENT'];
  // A driver that does not count the rows, and a time that is not set.
  const isUnset = names.has('affected') || (names.has('participle') && names.has('time'));
  if (isDeletion && isUnset && value === null) return ['UNKNOWN'];
  if (names.has('done') && value === true) return ['DONE'];
  if (isDeletion && names.has('wrapper') && (value === true || value === 1)) return ['DONE'];
  const isContainer = typeof value === 'object';
  const isLength = names.has('count') && hasList;
  if (
    isContainer ||
    isLength ||
    parent.has('meta') ||
    hasId ||
    isOfElse(names, value) ||
    !parent.has('plain')
  )
    return ['SILENT'];
  const isUndone = value === false && /\p{L}ed\b/u.test(words) && !names.has('negative');
  return isUndone ? ['UNKNOWN'] : isDeletion ? [] : ['SILENT'];
}

/** What a body says that is a flag or a number. */
function judgeWhole(value: unknown, isDeletion: boolean): readonly Finding[] {
  if (typeof value === 'boolean') return [value ? 'DONE' : 'FAILED'];
  return [isDeletion ? { rank: 0, isSome: amountOf(value) === 'some' } : 'UNKNOWN'];
}

/** Whether a name is one of something else, or was judged. A false flag is no identifier, link, version or time. */
function isOfElse(names: Names, value: unknown): boolean {
  const judged: readonly Name[] = [...RULES.map(([name]) => name), 'error', 'other'];
  if (names.has('silent') && value !== false) return true;
  return !names.has('wrapper') && judged.some((name) => names.has(name));
}

/** A name or a code in words: `not found` for `NOT_FOUND`, `not-found` and `notFound`. */
function toWords(code: string): string {
  return code
    .replace(/[\s_.#:/-]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])/g, ' ')
    .trim()
    .toLowerCase();
}
