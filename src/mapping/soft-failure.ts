import { GatewayError, MESSAGES } from '../errors.ts';
import { failureOf, type Operation, toStatusError } from '../upstream/status.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { splitMemberName } from './member-names.ts';
import { isObject, parseHttpStatus, parseOutcome } from './values.ts';

/** Tells the operator what to do about a field that was not found. The end of an error message. */
export const CONTRACT_HINT =
  'Save a response and run `keytrail learn --from response.json` to see what is found; then map it in a contract file (KEYTRAIL_CONTRACT).';

/** Names of success flags. */
const SUCCESS_FLAGS = /^(?:is )?(?:success|successful|ok|succeeded)$/;

/** Names of members that describe an error, if there is one. */
const ERROR_MEMBERS = /^error(?: (?:code|message))?$|^(?:is )?failed$|^failure$/;

/** Names of members that hold an outcome in words or an HTTP status. */
const STATUS_MEMBERS =
  /^(?:result|outcome|(?:http |response )?status|(?:(?:error|err|http|http status|status|response|result|return|ret) )?code|errcode|retcode)$/;

/** Names of the ID of a resource. The ID of a request or trace does not count: it may be next to a status. */
const RESOURCE_ID = /^(?:(?:client|key|api key|secret) )?id$/;

/** Names of objects that repeat the query, or are about something else. Their members are ignored. */
export const EXCLUDED =
  /\b(?:filter|query|parameter|param|criteria|search|request|option|permission|link|facet|shard|paging|pagination)\b/;

/** Names of objects that contain statistics. Only counts of a deletion and of its errors are read there. */
export const STATISTICS = /\b(?:stat|statistic|summary|total|count)\b/;

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

/** An HTTP status of a failure, or a code that begins with one: `404`, `40401`, `404 Not Found`, `HTTP/1.1 404 Not Found`. */
const HTTP_FAILURE = /^(?:HTTP\/\d(?:\.\d)? )?[45]\d\d(?:\d\d| [A-Za-z][\w '-]*)?$/;

/** Members examined per object. A status response has a few, not thousands. */
const MAX_MEMBERS = 500;

/**
 * Detects a soft failure: a body that reports a failure despite a 2xx status, in its members or in theirs. See
 * `readDeletion` for deletions.
 * @param errorMembers names (as words) of members that describe an error.
 * @throws GatewayError see `toSoftFailure`.
 */
export function throwOnSoftFailure(
  { body, status }: Pick<UpstreamResponse, 'body' | 'status'>,
  operation: Operation,
  errorMembers = ERROR_MEMBERS,
) {
  const members = listMembers(body);
  if (body !== false && !members.some((member) => reportsFailure(member, errorMembers))) return;
  throw toSoftFailure(status, members.flatMap(failureStatusesOf), operation);
}

/**
 * The error for a soft failure. If its body has one status 4xx, and no other status of a failure, it means what that HTTP
 * status means: the request was refused. Otherwise UPSTREAM_ERROR: a 5xx does not say how far the request got.
 */
export function toSoftFailure(
  upstreamStatus: number,
  statuses: readonly number[],
  operation: Operation,
): GatewayError {
  const details = { reason: 'SAYS_IT_FAILED', upstreamStatus } as const;
  const [status, ...others] = new Set(statuses);
  const failure = status !== undefined && others.length === 0 && failureOf(status);
  if (failure && status < 500) return toStatusError(failure, operation, details);
  const message = MESSAGES[operation].SAYS_IT_FAILED;
  return new GatewayError('UPSTREAM_ERROR', {
    ...details,
    ...(message !== undefined && { message }),
  });
}

/** A member of an object, with the words of its name. */
export type Member = { readonly words: string; readonly value: unknown };

/** Lists the members of a body and of its members. The state of a resource, such as the client, is left out. */
function listMembers(body: unknown): readonly Member[] {
  const members = toMembers(body);
  const nested = members.flatMap(({ words, value }) => {
    const inner = EXCLUDED.test(words) || STATISTICS.test(words) ? [] : toMembers(value);
    const isResource = inner.some((member) => RESOURCE_ID.test(member.words));
    return isResource ? inner.filter((member) => !isResourceState(member)) : inner;
  });
  return [...members, ...nested];
}

/** The members of an object; none for any other value. */
export function toMembers(value: unknown): readonly Member[] {
  if (!isObject(value)) return [];
  const entries = Object.entries(value).slice(0, MAX_MEMBERS);
  return entries.map(([key, member]) => ({ words: splitMemberName(key).words, value: member }));
}

/** Whether a member is the state of a resource and no failure, if it is one of a resource. */
export function isResourceState({ words, value }: Member): boolean {
  return words === 'status' && typeof value === 'string' && RESOURCE_STATES.test(value);
}

/** Whether a member reports a failure: an error, a success flag that is false, or a status. */
export function reportsFailure({ words, value }: Member, errorMembers = ERROR_MEMBERS): boolean {
  if (errorMembers.test(words)) return describesError(value);
  const isFailure = isRefusal(value);
  const text = typeof value === 'object' ? '' : String(value);
  if (SUCCESS_FLAGS.test(words)) return isFailure || NEGATION.test(text) || text === '0';
  return STATUS_MEMBERS.test(words) && (isFailure || HTTP_FAILURE.test(text));
}

/** Whether a value means that the request was not executed: false, or a word such as `failed`, `no`, `not_found`. */
export function isRefusal(value: unknown): boolean {
  return (
    parseOutcome(value) === 'FAILURE' || (typeof value === 'string' && NOT_EXECUTED.test(value))
  );
}

/** The status of a failure that a member holds, if any. */
export function failureStatusesOf({ words, value }: Member): readonly number[] {
  return STATUS_MEMBERS.test(words) && parseHttpStatus(value) === 'FAILURE' ? [Number(value)] : [];
}

/** Whether the value of a member that describes an error means that there is one. */
export function describesError(value: unknown): boolean {
  return isObject(value) ? Object.values(value).some(isError) : isError(value);
}

function isError(value: unknown): boolean {
  return typeof value === 'object' && value !== null
    ? Object.keys(value).length > 0
    : !NO_ERROR.test(String(value));
}
