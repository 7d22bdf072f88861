import { GatewayError, MESSAGES } from '../../errors.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import { type CallKind, failureOf, toStatusError } from '../upstream/status.ts';
import { type MemberName, splitMemberName } from './member-names.ts';
import { firstNames, isEmpty, isObject, parseHttpStatus, parseOutcome } from './values.ts';
import {
  HTTP_FAILURE,
  NEGATION,
  NO,
  NO_ERROR,
  NOT_EXECUTED,
  RESOURCE_STATE,
  RESPONSE_NAMES,
  TOKEN_REFUSAL,
} from './vocabulary.ts';

/** Tells the operator what to do about a field that was not found. The end of an error message. */
export const CONTRACT_HINT =
  'Save a response and run `keytrail learn --from response.json` to see what is found; then map it in a contract file (KEYTRAIL_CONTRACT).';

/** Longer texts about a result are cut, in characters. */
export const MAX_LENGTH = 1000;

/** Members examined per object. A status response has a few, not thousands. */
const MAX_MEMBERS = 500;

/**
 * Detects a soft failure: a body that reports a failure despite a 2xx status, in its members or in theirs. See
 * `readDeletionOutcome` for deletions.
 * @param errorMembers names (as words) of members that describe an error.
 * @throws GatewayError see `toSoftFailure`.
 */
export function throwOnSoftFailure(
  { body, status }: Pick<UpstreamResponse, 'body' | 'status'>,
  operation: CallKind,
  errorMembers = RESPONSE_NAMES.error,
) {
  const members = listMembers(body);
  if (body !== false && !members.some((member) => reportsFailure(member, errorMembers))) return;
  throw toSoftFailure(status, reportedStatuses(members), operation);
}

/**
 * The error for a soft failure. If its body has one status 4xx, and no other status of a failure, it means what that HTTP
 * status means: the request was refused. Otherwise UPSTREAM_ERROR: a 5xx does not say how far the request got.
 */
export function toSoftFailure(
  upstreamStatus: number,
  statuses: readonly number[],
  operation: CallKind,
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
    const inner =
      RESPONSE_NAMES.excluded.test(words) || RESPONSE_NAMES.statistics.test(words)
        ? []
        : toMembers(value);
    const isResource = inner.some((member) => RESPONSE_NAMES.id.test(member.words));
    return isResource ? inner.filter((member) => !isResourceState(member)) : inner;
  });
  return [...members, ...nested];
}

/** The members of an object; none for any other value. */
export function toMembers(value: unknown): readonly (Member & Pick<MemberName, 'pointerToken'>)[] {
  if (!isObject(value)) return [];
  const names = firstNames(value).slice(0, MAX_MEMBERS);
  return names.map((name) => ({ ...splitMemberName(name), value: value[name] }));
}

/** Whether a member is the state of a resource and no failure, if it is one of a resource. */
export function isResourceState({ words, value }: Member): boolean {
  return words === 'status' && typeof value === 'string' && RESOURCE_STATE.test(value);
}

/** Whether a member reports a failure: an error, a success flag that is false, or a status. */
export function reportsFailure(
  { words, value }: Member,
  errorMembers = RESPONSE_NAMES.error,
): boolean {
  if (errorMembers.test(words)) return describesError(value);
  const isFailure = isRefusal(value);
  const text = typeof value === 'object' ? '' : String(value);
  if (RESPONSE_NAMES.success.test(words)) return isFailure || NEGATION.test(text) || NO.test(text);
  return RESPONSE_NAMES.status.test(words) && (isFailure || HTTP_FAILURE.test(text));
}

/** Whether a value means that the request was not executed: false, or a word such as `failed`, `no`, `not_found`. */
export function isRefusal(value: unknown): boolean {
  return (
    parseOutcome(value) === 'FAILURE' || (typeof value === 'string' && NOT_EXECUTED.test(value))
  );
}

/** The statuses of failures that members hold. Without any, 401 if the code of an error says that the token is refused. */
export function reportedStatuses(members: readonly Member[]): readonly number[] {
  const statuses = members.flatMap(failureStatusesOf);
  return statuses.length === 0 && members.some(refusesToken) ? [401] : statuses;
}

/** Whether the code of an error says that the token is refused. */
function refusesToken({ words, value }: Member): boolean {
  const isCode = RESPONSE_NAMES.error.test(words) || RESPONSE_NAMES.status.test(words);
  return isCode && typeof value === 'string' && TOKEN_REFUSAL.test(splitMemberName(value).words);
}

/** The status of a failure that a member holds, if any. */
export function failureStatusesOf({ words, value }: Member): readonly number[] {
  return RESPONSE_NAMES.status.test(words) && parseHttpStatus(value) === 'FAILURE'
    ? [Number(value)]
    : [];
}

/** Whether the value of a member that describes an error means that there is one. */
export function describesError(value: unknown): boolean {
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
