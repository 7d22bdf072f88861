import { type FailureDetails, GatewayError, MESSAGES } from '../../errors.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import { type CallKind, failureOf, toStatusError } from '../upstream/status.ts';
import type { Verdict } from './verdict.ts';

/** Tells the operator what to do about a field that was not found. The end of an error message. */
export const CONTRACT_HINT =
  'Save a response and run `keytrail learn --from response.json` to see what is found; then map it in a contract file (KEYTRAIL_CONTRACT).';

/** What a login, and a read whose response has no record, make of a verdict. Deletions: see `readDeletion`. */
const CONSEQUENCES = {
  login: {
    ...{
      DONE: 'read',
      NOTHING: 'read',
      UNKNOWN: 'read',
      LATER: 'further step',
      PART: 'further step',
    },
    ...{ FAILED: 'error', REFUSED_TOKEN: 'error', ABSENT: 'error' },
  },
  read: {
    ...{ DONE: 'read', NOTHING: 'read', UNKNOWN: 'unread', LATER: 'not ready', PART: 'error' },
    ...{ FAILED: 'error', REFUSED_TOKEN: 'error', ABSENT: 'error' },
  },
} as const satisfies Readonly<
  Record<Exclude<CallKind, 'deletion'>, Readonly<Record<Verdict['says'], string>>>
>;

/**
 * Requires that a response to a login, or one without a record, does not say that it failed.
 * @returns whether the service asks for a further step: a login only.
 * @throws GatewayError see {@link toVerdictError}; UPSTREAM_BAD_RESPONSE, reason FIELD_UNREAD, if it has a code, a flag or a
 * status that is not understood.
 */
export function requireSuccess(
  { says, by, statuses, isNumber }: Verdict,
  { status }: UpstreamResponse,
  operation: keyof typeof CONSEQUENCES,
): { readonly isFurtherStep: boolean } {
  const consequence = CONSEQUENCES[operation][says];
  if (consequence === 'error') throw toVerdictError(status, statuses, operation);
  if (consequence === 'not ready') throw new GatewayError('UPSTREAM_ERROR', NOT_READY);
  // A sentence alone, in whatever language, and members of any name are no reason to refuse what is there.
  const isCode = by === 'member' || by === 'contract';
  if (isNumber || (consequence === 'unread' && isCode)) throw toUnread(operation, status);
  return { isFurtherStep: consequence === 'further step' };
}

const NOT_READY: FailureDetails = {
  ...{ reason: 'SAYS_IT_FAILED', retryable: true },
  message: 'The service says that the audit trail is not ready yet: request it again later.',
};

/**
 * The error for a 2xx response that says that it failed. If it names one status 4xx, and no other status of a failure, it means
 * what that HTTP status means: the request was refused. Otherwise UPSTREAM_ERROR: a 5xx does not say how far the request got.
 */
export function toVerdictError(
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

/** The error for a response with a value that no rule understands. */
export function toUnread(
  operation: CallKind,
  upstreamStatus: number,
  message: string = UNREAD[operation],
): GatewayError {
  const code = operation === 'deletion' ? 'OUTCOME_UNKNOWN' : 'UPSTREAM_BAD_RESPONSE';
  return new GatewayError(code, { reason: 'FIELD_UNREAD', message, upstreamStatus });
}

const UNREAD: Readonly<Record<CallKind, string>> = {
  login:
    'The response to the login has a code that is not understood: say what it means with `errors` in the contract.',
  read: 'The response has no record, and a code, a flag or a status that is not understood: say what it means with `errors` in the contract.',
  deletion:
    'The response to the deletion is not understood: say what it means with `errors` or `deletion.outcome` in the contract. The key may be deleted: check before you repeat the deletion.',
};
