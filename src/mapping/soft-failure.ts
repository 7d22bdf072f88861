import { GatewayError } from '../errors.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { parseOutcome } from './outcome.ts';
import { isObject, tokenizeKey } from './tokenize-key.ts';

/** What the operator does when something is not found in an answer. */
export const CONTRACT_HINT =
  '`keytrail learn --from` a saved one shows what is, and KEYTRAIL_CONTRACT says where to look.';

/** Yes or no, or how many, under these names. */
const FLAGS =
  /^(?:is )?(?:success|successful|ok|succeeded|deleted|removed)$|^(?:deleted|removed) count$/;

/** What went wrong, if anything, under these. */
const COMPLAINTS = /^error(?: (?:code|message))?$|^(?:is )?failed$|^failure$/;

/** A word or an HTTP status, under these. */
const WORDS = /^(?:result|status|outcome|code|status code|http status|http status code)$/;

/** A thing's own; that of a request or a trace stands beside its verdict. */
const OWN_ID = /^(?:(?:client|key|api key|secret) )?id$/;

/** What only repeats the question, or counts. */
const ASIDE =
  /\b(?:filter|query|parameter|param|criteria|search|stat|statistic|summary|facet|shard|total|count|paging|pagination)\b/;

/** How services write that nothing went wrong. */
const NONE =
  /^(?:|0+|2\d\d|-|n\/a|null|false|no|none|no[ _-]errors?|ok)$|^success|^(?!.*(?:\b(?:not|cannot|unable)\b|n't|fail).*\bsuccess).*\bsuccess/i;

/** Of what was done, beside what says so of an event. */
const NOT_DONE =
  /^(?:no|not[ _-]?(?:found|removed|revoked|exist(?:s|ing)?|supported|implemented|possible|eligible.*|able.*))$/i;

/** In the place of a flag whatever is not so. */
const NOT_SO = /^(?:not|Not|NOT)(?:[ _-]|[A-Z])/;

/** How a key may be that is gone. */
const STATES = /^(?:blocked|(?:in|not[ _-]?)valid)$/i;

/** An answer has a few members, not thousands. */
const MAX_MEMBERS = 500;

/**
 * Takes the word of a body that speaks against the success that its status announced: at its top, or one wrapper down.
 * @param complaints names under which something says what went wrong.
 * @throws GatewayError UPSTREAM_ERROR when it does.
 */
export function throwOnSoftFailure(
  { body, status: upstreamStatus }: Pick<UpstreamResponse, 'body' | 'status'>,
  complaints = COMPLAINTS,
) {
  if (body === false || membersOf(body).some((member) => speaksAgainst(member, complaints)))
    throw new GatewayError('UPSTREAM_ERROR', { reason: 'SAYS_IT_FAILED', upstreamStatus });
}

type Member = { readonly words: string; readonly value: unknown };

/** The members of a body and of its members. How a thing in it is that has an id, as the key that was deleted, is no verdict. */
function membersOf(body: unknown): readonly Member[] {
  const top = readMembers(body);
  const inner = top.flatMap(({ words, value }) => {
    const members = ASIDE.test(words) ? [] : readMembers(value);
    const isThing = members.some((member) => OWN_ID.test(member.words));
    return isThing ? members.filter((member) => !isState(member)) : members;
  });
  return [...top, ...inner];
}

function readMembers(value: unknown): readonly Member[] {
  if (!isObject(value)) return [];
  const members = Object.entries(value).slice(0, MAX_MEMBERS);
  return members.map(([name, one]) => ({ words: tokenizeKey(name).join(' '), value: one }));
}

function isState({ words, value }: Member): boolean {
  return words === 'status' && typeof value === 'string' && STATES.test(value);
}

function speaksAgainst({ words, value }: Member, complaints: RegExp): boolean {
  if (complaints.test(words))
    return isObject(value) ? Object.values(value).some(isComplaint) : isComplaint(value);
  const text = /^(?:string|number|boolean)$/.test(typeof value) ? String(value) : '';
  const isNo = parseOutcome(value) === 'FAILURE' || NOT_DONE.test(text);
  if (FLAGS.test(words)) return isNo || NOT_SO.test(text) || text === '0';
  return WORDS.test(words) && (isNo || /^[45]\d\d(?:\d\d)?$/.test(text));
}

function isComplaint(value: unknown): boolean {
  return typeof value === 'object' && value !== null
    ? Object.keys(value).length > 0
    : !NONE.test(String(value));
}
