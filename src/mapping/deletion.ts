import type { UpstreamResponse } from '../upstream/types.ts';
import { memoize } from '../util/memoize.ts';
import { readText, toWords } from './deletion-text.ts';
import {
  describesError,
  EXCLUDED,
  failureStatusesOf,
  isResourceState,
  type Member,
  reportsFailure,
  STATISTICS,
  toMembers,
  toSoftFailure,
} from './soft-failure.ts';
import { isObject } from './values.ts';

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
    const statuses = parts.flatMap(({ member }) => failureStatusesOf(member));
    const isNotFound = has('NOT_FOUND') && isDeleted !== true && statuses.length === 0;
    throw toSoftFailure(status, isNotFound ? [404] : statuses, 'deletion');
  }
  return status === 202 || has('PENDING') ? 'ACCEPTED' : 'DELETED';
}

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

/** Whether a name matches, memoized: a service has a few names, and these are many patterns. */
const named = (pattern: RegExp) => memoize((words) => pattern.test(words));

/** Words of a name that add nothing to its verb, those for any thing, and those for a key. */
const FILLERS = 'is|was|has|been|successfully|num|number|no|of|total|count|n';
const THINGS =
  'list|id|ids|item|row|record|document|object|entity|element|entry|result|resource|detail';
const OWN = 'api|key|secret|client|credential|token';

/** What may be around a verb: `is deleted`, `number of deleted rows`. */
const BEFORE = `^(?:(?:${FILLERS}) )*`;
const AFTER = `(?: (?:${FILLERS}|${THINGS}|${OWN}))*$`;

/** Participles of deletions, and those that may mean less. */
const DELETED =
  '(?:delet|remov|destroy|purg|eras|expung|wip|dropp|discard|(?:un|de)register|unlink|revok|invalidat)ed';
const DISABLED =
  '(?:deactivat|disabl|archiv|terminat|retir|trash|evict|clear|cancell?|deauthoriz|deprovision)ed|withdrawn';

const PARTICIPLE = new RegExp(`\\b(?:${DELETED}|(${DISABLED}))\\b`);
const hasParticiple = named(PARTICIPLE);
const IMPERATIVE =
  /^(?:delete|remove|revoke|destroy|purge|erase|invalidate|deactivate)(?= )|(?<= )(?:delete|remove|revoke|destroy)$|^(?:deletion|removal|revocation)$/;

/** In a name with a verb of a deletion: it is something else, such as `deleted by`, `delete protection`, `to be deleted`. */
const NO_RESULT =
  /\b(?:by|on|user|reason|url|link|href|since|until|after|before|policy|protection|marker|method|permission|enabled|will|would|to|be|can|could|should|allow|auto|include|show|with|last|for|hard|permanently|not|already|previously|if)\b/;
const TIME = /\b(?:at|date|time|timestamp)\b/;
const NO_NOUN = new RegExp(`\\b(?:${FILLERS}|${THINGS})\\b`, 'g');
const OWN_NOUN = new RegExp(`^(?: |${OWN})*$`);

/** Numbers of rows that a database library reports for a deletion, and those that may be 0 after one. */
const isRows = named(new RegExp(`${BEFORE}(?:\\w+ )?affected${AFTER}|^row ?count$|^update count$`));
const isPlainRows = named(/^(?:change|n)$/);
const isOtherRows = named(
  new RegExp(
    `${BEFORE}(?:\\w+ )?(?:changed|modified|updated|written|match(?:e|ed)?|processed|success(?:e|ful)?|succeeded)${AFTER}|^(?:num )?row$|^count$`,
  ),
);

/** Names of lists, counts and flags of what does not exist. */
const isMissing = named(
  new RegExp(
    `(?:^| )(?:not ?found|not exist(?:ing)?|missing|non ?exist(?:ent|ing)?|unknown|unmatched)${AFTER}|\\b(?:already|previously) (?:${DELETED}|${DISABLED})\\b`,
  ),
);

/** Names of flags that say that nothing is deleted yet: it was a trial, or must be confirmed. */
const isTrial = named(
  /^(?:is )?(?:dry ?run|simulated?|simulation|preview|what ?if|validate only)$|\bwould\b.*\b(?:delete|remove|revoke)|\b(?:confirm\w*|approval) (?:required|needed)$|^(?:require|need) (?:\w+ )?(?:confirm\w*|approval)$/,
);

/** What a name says of a member that has something, or that is false or 0. */
const RULES: readonly (readonly [(words: string) => boolean, 'some' | 'none', Finding])[] = [
  [isMissing, 'some', 'NOT_FOUND'],
  [named(/^(?:is |was )?(?:found|existed)$/), 'none', 'NOT_FOUND'],
  [isTrial, 'some', 'FAILURE'],
  [named(new RegExp(`\\bnot (?:${DELETED}|${DISABLED})\\b`)), 'some', 'FAILURE'],
  [
    named(
      new RegExp(
        `${BEFORE}(?:errored|rejected|denied|refused|unsuccessful|invalid|unprocessed|undeleted|(?:version )?conflict)${AFTER}`,
      ),
    ),
    'some',
    'FAILURE',
  ],
  [
    named(
      new RegExp(
        `${BEFORE}failed(?: (?!login|logon|sign|auth|attempt|request|call|try|password)\\w+)*$`,
      ),
    ),
    'some',
    'FAILURE',
  ],
  [
    named(new RegExp(`${BEFORE}(?:skipped|ignored|unchanged|unaffected|no ?op)${AFTER}`)),
    'some',
    'SKIPPED',
  ],
  [
    named(
      /^(?:is |was )?(?:acknowledged|applied|accepted|executed|performed|allowed|permitted|authori[sz]ed|deletable|removable)$|^can (?:be )?(?:delete|remove|revoke)d?$/,
    ),
    'none',
    'FAILURE',
  ],
  [named(/ (?:success|successful|succeeded)$/), 'none', 'FAILURE'],
  [named(/^(?:data|response|payload|body)$/), 'none', 'FAILURE'],
];

const isError = named(
  new RegExp(
    `^(?!.*\\b(?:last|previous|max|login|on|ignore|report|no)\\b)(?:.* )?(?:error|err|errcode|errno|exception|failure|fault|violation)(?: code)?${AFTER}`,
  ),
);

/** Members with a text about the result, those whose text may be about a resource, those with a code, and a type. */
const isMessage = named(
  /^(?:(?:error|err|status|response|return|display) )?(?:message|msg|errmsg|errormsg|text|detail|cause|warning)$/,
);
const isDescription = named(
  /^(?:(?:error|err|status) )?(?:description|reason|info|title|note|notice|explanation)$/,
);
const isStatus = named(
  /(?:^| )(?:status|state|phase|result|outcome|code|deletion|removal|revocation)$|^(?:success|ok)$/,
);
const isType = named(/^(?:type|type name|kind|severity|level)$/);
const isWrapper = named(/^(?:data|result|response|payload|body|value|output|return|returning|d)$/);

/** The name of an object that is about the deletion, if it is not the body. */
const isPlain = named(
  /^$|(?:^| )(?:data|result|response|payload|body|value|output|return|d|meta|metadata|info|detail|object|raw|operation|task|job|status|deletion|removal|revocation)$|\b(?:delete|remove|revoke)d?\b/,
);
const isComplete = named(/^(?:is )?(?:done|completed?|finished)$/);

/** A status that is not the final one, and one that a key cannot have before its deletion. */
const PENDING =
  /^(?:pending|(?:en)?queued|scheduled|accepted|submitted|in ?progress|processing|running|(?:not ?)?started|initiated|waiting)$/;
const DELETING =
  /^(?:deleting|removing|revoking|terminating|pending deletion|deletion (?:pending|scheduled))$/;

/** The ID of a resource, and what describes it. With both, or two of the latter, an object is a resource. */
const isId = named(
  /^(?:(?:client|key|api key|secret|token|application|resource|record|credential) )?(?:id|uuid|uid|guid|arn)$/,
);
const describesResource = named(
  /^(?:\w+ )?(?:name|label|scope|prefix|role|owner|hint|fingerprint|permission)$|\b(?:created?|creation|updated?|modified|used|issued|expired?|expiry|expiration)\b.*\b(?:at|on|by|time|date|timestamp)$|^(?:created|expire|expiry|expiration)$/,
);

/** Lists the members of a body, but not those in a resource, nor what repeats the query. */
function listParts(body: unknown, clientId: string): readonly Part[] {
  const parts: Part[] = [];
  const visit = (value: unknown, parent: string, depth: number, isListed: boolean) => {
    if (depth > MAX_DEPTH || parts.length > MAX_PARTS) return;
    if (Array.isArray(value))
      for (const item of value.slice(0, MAX_ITEMS)) visit(item, parent, depth + 1, true);
    const isText = parent === '' || isError(parent) || isMessage(parent);
    const texts = typeof value === 'string' && isText ? [{ words: 'message', value }] : [];
    const members = [...texts, ...toMembers(value)];
    const hasId = members.some(({ words }) => isId(words));
    const hasList = members.some((member) => Array.isArray(member.value));
    const described = members.filter(({ words }) => describesResource(words)).length;
    // `{"deleted": {"id": "k", "revoked": false}}` has the key as it was.
    const isDeleted = hasParticiple(parent);
    const isResource = described + Number(hasId) > 1 || (hasId && isDeleted);
    const of = isResource ? 'resource' : STATISTICS.test(parent) ? 'statistics' : 'result';
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
      if (typeof inner === 'object' && !EXCLUDED.test(words))
        visit(inner, isError(parent) ? parent : words, depth + 1, isListed);
    }
  };
  visit(body, '', 0, false);
  return parts;
}

function judge(part: Part): readonly Finding[] {
  const { member, parent, of, isListed } = part;
  const { words, value } = member;
  const isResource = of === 'resource';
  const isHttpStatus = failureStatusesOf(member).length > 0;
  if (isResource && isListed) return isHttpStatus ? ['FAILURE'] : [];
  const amount = amountOf(value);
  const findings: Finding[] = RULES.filter(
    ([name, when]) =>
      when === amount && name(words) && (!isResource || name === isMissing || name === isTrial),
  ).map(([, , finding]) => finding);
  findings.push(...countDeleted(part, amount));
  if (!isResource && isError(words) && describesError(value)) findings.push('FAILURE');
  if (of === 'statistics') return findings;
  if (!isResource && isPlain(parent) && isComplete(words) && amount === 'none')
    findings.push('PENDING');
  // A key may have had errors: `{"id": "k", "name": "ci", "errors": 3}`.
  const isNumber = typeof value === 'number' && !isHttpStatus;
  if (reportsFailure(member) && !(isResource && isNumber)) findings.push('FAILURE');
  if (/\bcode$/.test(words) && typeof value === 'number' && value < 0) findings.push('FAILURE');
  return typeof value === 'string' ? [...findings, ...judgeText(part, value)] : findings;
}

function judgeText(
  { member: { words }, parent, of, hasId }: Part,
  text: string,
): readonly Finding[] {
  const word = toWords(text);
  if (isStatus(words) && DELETING.test(word)) return ['PENDING'];
  const isState = of === 'result' && isPlain(parent) && (isStatus(words) || hasParticiple(words));
  if (isState && PENDING.test(word)) return ['PENDING'];
  const isResult =
    isStatus(words) ||
    isError(parent) ||
    isWrapper(words) ||
    isError(words) ||
    (hasParticiple(words) && amountOf(text) === 'none') ||
    (isType(words) && /error|exception|fault|fail|not ?found/.test(word)) ||
    (isDescription(words) && !hasId);
  const finding = isMessage(words) || (of === 'result' && isResult) ? readText(text) : null;
  return finding === null ? [] : [finding];
}

/** What a member says of the number of deleted things. Rows of several statements, in a list, may be 0. */
function countDeleted(
  { member: { words, value }, parent, of, isListed, hasId, hasList }: Part,
  amount: ReturnType<typeof amountOf>,
): readonly Amount[] {
  const isSome = amount === 'some';
  if (of === 'resource') {
    const isFlag = /^(?:is )?(?:deleted|removed|destroyed)$/.test(words);
    const isResult = isFlag || (isRows(words) && words.includes('affected'));
    return isResult && amount === 'none' ? [{ rank: 0, isSome }] : [];
  }
  if (isRows(words) || (isPlainRows(words) && isPlain(parent))) {
    // Python's -1 is an unknown number of rows.
    const isUnknown = typeof value === 'number' && value < 0;
    return isUnknown || amount === null || amount === 'empty'
      ? []
      : [{ rank: Number(isListed), isSome }];
  }
  if (isOtherRows(words)) {
    const isSuccess = words.includes('succe');
    const isOther =
      (isSuccess ? typeof value === 'boolean' : typeof value === 'object') ||
      (words === 'count' && (hasId || hasList)) ||
      (of === 'statistics' && !words.includes(' '));
    return isOther || amount === null || !isPlain(parent) ? [] : [{ rank: 3, isSome }];
  }
  const rank = rankOf(words, value);
  if (rank === null) return [];
  if (TIME.test(words)) return isSome ? [{ rank: 2, isSome }] : [];
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

/** A text that means "no", or "not" something. Others may be the ID of what was deleted. */
const NO =
  /^(?:0+|n|no|none|never|nothing|false|ko|nok|ng|fail(?:ed|ure)?|error|denied|refused|rejected)$|^not[ _]/i;

/** Whether a value is an amount of something, of nothing, or an empty list; null if it says neither. */
function amountOf(value: unknown): 'some' | 'none' | 'empty' | null {
  if (typeof value === 'boolean') return value ? 'some' : 'none';
  if (typeof value === 'number') return value > 0 ? 'some' : 'none';
  if (typeof value === 'string') {
    if (/^(?:|-|n\/a|null)$/i.test(value)) return null;
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
  return only !== undefined && others.length === 0 && isWrapper(only.words)
    ? unwrap(only.value)
    : body;
}
