import type { UpstreamResponse } from '../../util/upstream-response.ts';
import type { ConfiguredContract, DeletionContract, DeletionResult } from './contract.ts';
import { compilePart } from './event.ts';
import { toKey } from './values.ts';
import { judge, type Verdict } from './verdict.ts';
import { toUnread, toVerdictError } from './verdict-errors.ts';

/** How far a deletion has got. */
export type DeletionOutcome = Extract<DeletionResult, 'DELETED' | 'ACCEPTED'>;

/** What the response to a deletion means. */
export type DeletionReading = {
  /** Null: it is not understood. */
  readonly result: DeletionResult | null;
  /** The pointers of what decides. Empty: the HTTP status, or a header, does. */
  readonly at: readonly string[];
  readonly by: 'contract' | 'inference';
  /** HTTP statuses of failures that the response names. */
  readonly statuses: readonly number[];
};

/** The part of a contract that reads the response to a deletion. */
type Configured = Pick<ConfiguredContract, 'deletion' | 'errors'>;

/** Reads what the 2xx response to a deletion means: by the contract, else by what it says itself. */
export function readDeletion(
  response: UpstreamResponse,
  { deletion, errors }: Configured,
  clientId: string,
): DeletionReading {
  const outcome = deletion?.outcome;
  return (
    (outcome && readOutcome(response, outcome)) ??
    (outcome === null
      ? byStatus(response)
      : toReading(judge(response, { ...JUDGED, clientId, errors })))
  );
}

const JUDGED = { operation: 'deletion' } as const;

/** Undefined for a response without a body whose status is not in the map. */
function readOutcome(
  { body = null }: UpstreamResponse,
  outcome: NonNullable<DeletionContract['outcome']>,
): DeletionReading | undefined {
  const result = new Map(Object.entries(outcome.map)).get(toKey(compilePart(outcome)(body)));
  if (result === undefined && body === null) return undefined;
  return { result: result ?? null, at: [outcome.at ?? []].flat(), by: 'contract', statuses: [] };
}

function byStatus({ status }: UpstreamResponse): DeletionReading {
  const result = status === 202 ? 'ACCEPTED' : 'DELETED';
  return { result, at: [], by: 'contract', statuses: [] };
}

function toReading({ says, at, by, statuses }: Verdict): DeletionReading {
  return {
    ...{ result: RESULTS[says], at, statuses },
    by: by === 'contract' ? 'contract' : 'inference',
  };
}

/** What a deletion makes of a verdict. */
const RESULTS: Readonly<Record<Verdict['says'], DeletionResult | null>> = {
  ...{ DONE: 'DELETED', NOTHING: 'DELETED', LATER: 'ACCEPTED', ABSENT: 'NOT_FOUND' },
  ...{ FAILED: 'FAILED', REFUSED_TOKEN: 'FAILED', PART: null, UNKNOWN: null },
};

/**
 * Returns how far a deletion has got.
 * @throws GatewayError if nothing was deleted: NOT_FOUND if there is no such key, else see `toVerdictError`; and
 * OUTCOME_UNKNOWN, reason FIELD_UNREAD, if the response is not understood.
 */
export function requireDeletion(
  { result, statuses }: DeletionReading,
  { status }: UpstreamResponse,
  { deletion }: Configured,
): DeletionOutcome {
  if (result === 'DELETED' || result === 'ACCEPTED') return result;
  if (result !== null)
    throw toVerdictError(status, result === 'NOT_FOUND' ? [404] : statuses, 'deletion');
  throw toUnread('deletion', status, deletion?.outcome ? NO_KEY : undefined);
}

const NO_KEY =
  'The response to the deletion has a value that is no key of the map `deletion.outcome` of the contract: add it. The key may be deleted: check before you repeat the deletion.';
