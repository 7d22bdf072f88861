import { GatewayError } from '../errors.ts';
import { failureOf, type Operation, toStatusError } from '../upstream/status.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { splitMemberName } from './member-names.ts';
import { parseHttpStatus, parseOutcome } from './outcome.ts';
import { isObject } from './values.ts';

/** Tells the operator what to do about a field that was not found. The end of an error message. */
export const CONTRACT_HINT =
  'Save a response and run `keytrail learn --from response.json` to see what is found; then map it in a contract file (KEYTRAIL_CONTRACT).';

/** Names of success flags and of counts of deleted things. */
const SUCCESS_FLAGS =
  /^(?:is )?(?:success|successful|ok|succeeded|deleted|removed)$|^(?:deleted|removed) count$/;

/** Names of members that describe an error, if there is one. */
const ERROR_MEMBERS = /^error(?: (?:code|message))?$|^(?:is )?failed$|^failure$/;

/** Names of members that hold an outcome in words or an HTTP status. */
const STATUS_MEMBERS = /^(?:result|status|outcome|code|status code|http status|http status code)$/;

/** Names of the ID of a resource. The ID of a request or trace does not count: it may be next to a status. */
const RESOURCE_ID = /^(?:(?:client|key|api key|secret) )?id$/;

/** Names of objects that repeat the query, or contain statistics. Their members are ignored. */
const EXCLUDED =
  /\b(?:filter|query|parameter|param|criteria|search|stat|statistic|summary|facet|shard|total|count|paging|pagination)\b/;

/** Values of an error member that mean "no error". */
const NO_ERROR =
  /^(?:|0+|2\d\d|-|n\/a|null|false|no|none|no[ _-]errors?|ok)$|^success|^(?!.*(?:\b(?:not|cannot|unable)\b|n't|fail).*\bsuccess).*\bsuccess/i;

/** Values that mean that the request was not executed, in addition to the failures that `parseOutcome` recognises. */
const NOT_EXECUTED =
  /^(?:no|not[ _-]?(?:found|removed|revoked|exist(?:s|ing)?|supported|implemented|possible|eligible.*|able.*))$/i;

/** A negation. As the value of a success flag, any negation is a failure: `{"deleted": "not_yet"}`. */
const NEGATION = /^(?:not|Not|NOT)(?:[ _-]|[A-Z])/;

/** Values of the `status` of a resource that describe its state, and no failure: a deleted key may be blocked. */
const RESOURCE_STATES = /^(?:blocked|(?:in|not[ _-]?)valid)$/i;

/** Members examined per object. A status response has a few, not thousands. */
const MAX_MEMBERS = 500;

/**
 * Detects a soft failure: a body that reports a failure despite a 2xx status, in its members or in theirs. If they have
 * one status 4xx, and no other status of a failure, it means what that HTTP status means: the request was refused. A 5xx
 * does not say how far the request got.
 * @param errorMembers names (as words) of members that describe an error.
 * @throws GatewayError with the code of that status, else UPSTREAM_ERROR.
 */
export function throwOnSoftFailure(
  { body, status: upstreamStatus }: Pick<UpstreamResponse, 'body' | 'status'>,
  operation: Operation,
  errorMembers = ERROR_MEMBERS,
) {
  const members = listMembers(body);
  if (body !== false && !members.some((member) => reportsFailure(member, errorMembers))) return;
  const details = { reason: 'SAYS_IT_FAILED', upstreamStatus } as const;
  const [status, ...others] = new Set(members.flatMap(failureStatusesOf));
  const failure = status !== undefined && others.length === 0 && failureOf(status);
  if (failure && status < 500) throw toStatusError(failure, operation, details);
  throw new GatewayError('UPSTREAM_ERROR', details);
}

type Member = { readonly words: string; readonly value: unknown };

/** Lists the members of a body and of its members. The state of a resource, such as the deleted key, is left out. */
function listMembers(body: unknown): readonly Member[] {
  const members = toMembers(body);
  const nested = members.flatMap(({ words, value }) => {
    const inner = EXCLUDED.test(words) ? [] : toMembers(value);
    const isResource = inner.some((member) => RESOURCE_ID.test(member.words));
    return isResource ? inner.filter((member) => !isResourceState(member)) : inner;
  });
  return [...members, ...nested];
}

function toMembers(value: unknown): readonly Member[] {
  if (!isObject(value)) return [];
  const entries = Object.entries(value).slice(0, MAX_MEMBERS);
  return entries.map(([key, member]) => ({ words: splitMemberName(key).words, value: member }));
}

function isResourceState({ words, value }: Member): boolean {
  return words === 'status' && typeof value === 'string' && RESOURCE_STATES.test(value);
}

function reportsFailure({ words, value }: Member, errorMembers: RegExp): boolean {
  if (errorMembers.test(words))
    return isObject(value) ? Object.values(value).some(isError) : isError(value);
  const text = /^(?:string|number|boolean)$/.test(typeof value) ? String(value) : '';
  const isFailure = parseOutcome(value) === 'FAILURE' || NOT_EXECUTED.test(text);
  if (SUCCESS_FLAGS.test(words)) return isFailure || NEGATION.test(text) || text === '0';
  return STATUS_MEMBERS.test(words) && (isFailure || /^[45]\d\d(?:\d\d)?$/.test(text));
}

function failureStatusesOf({ words, value }: Member): readonly number[] {
  return STATUS_MEMBERS.test(words) && parseHttpStatus(value) === 'FAILURE' ? [Number(value)] : [];
}

function isError(value: unknown): boolean {
  return typeof value === 'object' && value !== null
    ? Object.keys(value).length > 0
    : !NO_ERROR.test(String(value));
}
