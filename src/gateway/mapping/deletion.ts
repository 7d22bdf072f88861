import { GatewayError } from '../../errors.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import type { DeletionContract, DeletionResult } from './contract.ts';
import { compilePart } from './event.ts';
import { toSoftFailure } from './soft-failure.ts';

/** How far a deletion has got. */
export type DeletionOutcome = Extract<DeletionResult, 'DELETED' | 'ACCEPTED'>;

/** What the response to a deletion means. */
export type DeletionReading = {
  /** Null: it has a value that is not understood. */
  readonly result: DeletionResult | null;
  /** The pointers of what decides. Null: the HTTP status does. */
  readonly at: readonly string[] | null;
  /** HTTP statuses of failures that the body reports. */
  readonly statuses: readonly number[];
};

/** A 2xx response to a deletion. */
type Response = Pick<UpstreamResponse, 'status' | 'body'>;

/**
 * Reads what the response to a deletion means by the contract or, without a body or with null in the contract, by the HTTP
 * status.
 * @returns undefined if neither decides.
 */
export function readDeletion(
  { status, body }: Response,
  outcome: DeletionContract['outcome'],
): DeletionReading | undefined {
  const isEmpty = body === null || body === undefined;
  if (outcome) {
    const key = toKey(compilePart(outcome)(body));
    const result = new Map(Object.entries(outcome.map)).get(key);
    if (result !== undefined || !isEmpty)
      return { result: result ?? null, at: [outcome.at ?? []].flat(), statuses: [] };
  }
  if (outcome === undefined && !isEmpty) return undefined;
  return { result: status === 202 ? 'ACCEPTED' : 'DELETED', at: null, statuses: [] };
}

/** The key of a value in the map: of a list or an object, the number of its items; `null` if there is no value. */
export function toKey(value: unknown): string {
  const isContainer = typeof value === 'object' && value !== null;
  return String(isContainer ? Object.keys(value).length : (value ?? null));
}

/**
 * Returns how far a deletion has got.
 * @throws GatewayError if nothing was deleted: NOT_FOUND if there is no such key, else see `toSoftFailure`; and
 * OUTCOME_UNKNOWN, reason FIELD_UNREAD, if the response is not understood.
 */
export function requireDeletion(
  { result, statuses }: DeletionReading,
  { status }: Response,
  outcome: DeletionContract['outcome'],
): DeletionOutcome {
  if (result === 'DELETED' || result === 'ACCEPTED') return result;
  if (result !== null)
    throw toSoftFailure(status, result === 'NOT_FOUND' ? [404] : statuses, 'deletion');
  const message = `${outcome ? NO_KEY : NOT_UNDERSTOOD} ${CHECK}`;
  throw new GatewayError('OUTCOME_UNKNOWN', {
    ...{ reason: 'FIELD_UNREAD', message, upstreamStatus: status },
  });
}

const NO_KEY =
  'The response to the deletion has a value that is no key of the map `deletion.outcome` of the contract: add it.';
const NOT_UNDERSTOOD =
  'The response to the deletion has a status, a flag or a count that is not understood: say what it means with `deletion.outcome` in the contract.';
const CHECK = 'The key may be deleted: check before you repeat the deletion.';
