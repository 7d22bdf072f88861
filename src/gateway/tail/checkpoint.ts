import { GatewayError } from '../../errors.ts';
import { LIST_ORDERS, type ListOrder } from '../mapping/contract.ts';
import { MAX_LATE } from '../mapping/late-records.ts';
import type { PageToken } from '../mapping/next-page.ts';
import { decodeParts, encodeParts, fromTokenParts, toTokenParts } from '../pagination/cursor.ts';
import { DIGEST_LENGTH } from '../pagination/find-item.ts';

/** Where a tail continues: what is known of the list. */
export type Checkpoint = {
  /** Digests of records: of those that the last poll read, newest first, then of others that were known. */
  readonly known: readonly string[];
  /** Whether `known` has every record that the list ever had, except for removed ones. */
  readonly isWhole: boolean;
  /** Null if the list has one record at most, or only one time. */
  readonly order: ListOrder | null;
  /** The page at which a poll of a list with the oldest first begins. Null: the first. */
  readonly start: PageToken | null;
  /** Which records are at that page. Default: known ones. */
  readonly startsWith?: StartsWith | undefined;
  /** Digest of the query parameters that select what the service lists. */
  readonly selection: string;
};

/** `older`: those before the known ones, for which the poll searches. `newer`: those after them, after empty pages. */
export type StartsWith = 'older' | 'newer';

const STARTS_WITH = [undefined, 'older', 'newer'] as const;

/** Newest records that a checkpoint knows. 64: even if 31 vanish, 33 are left, one more than a record may be late. */
export const MAX_KNOWN = 2 * MAX_LATE;

const ORDERS = [null, ...LIST_ORDERS] as const;

/** The version of the format. In the second one, digests depended on the order of members; the first had no version. */
const VERSION = '3';

/**
 * Encodes a checkpoint: the version, base64url of a JSON array, the digests. Opaque to clients; about 1,500 characters,
 * and the service's cursor if it has one.
 */
export function encodeCheckpoint(checkpoint: Checkpoint): string {
  const { known, isWhole, order, start, startsWith, selection } = checkpoint;
  const head = [ORDERS.indexOf(order), Number(isWhole), STARTS_WITH.indexOf(startsWith), selection];
  const parts = start === null ? head : [...head, ...toTokenParts(start)];
  return [VERSION, encodeParts(parts), known.join('')].join('.');
}

/** @throws GatewayError BAD_USER_INPUT if it is not a checkpoint, or one of another version. */
export function decodeCheckpoint(text: string): Checkpoint {
  const [, version, encoded = '', digests = ''] = FORMAT.exec(text) ?? [];
  const parts = decodeParts(encoded);
  const [order, whole, at, selection, ...request] = parts ?? [];
  const start = fromTokenParts(request);
  const known = digests.match(KNOWN_DIGEST) ?? [];
  if (
    version === VERSION &&
    typeof order === 'number' &&
    ORDERS[order] !== undefined &&
    (whole === 0 || whole === 1) &&
    typeof at === 'number' &&
    at in STARTS_WITH &&
    typeof selection === 'string' &&
    start !== undefined &&
    known.length <= MAX_KNOWN &&
    known.join('') === digests
  ) {
    const startsWith = STARTS_WITH[at];
    return { known, isWhole: whole === 1, order: ORDERS[order], start, startsWith, selection };
  }
  const isOther = version === undefined ? parts !== null : version !== VERSION;
  throw new GatewayError('BAD_USER_INPUT', { message: isOther ? OTHER_VERSION : NO_CHECKPOINT });
}

const NO_CHECKPOINT =
  '`after` is not a checkpoint: use `checkpoint` of an earlier payload, or null.';

const OTHER_VERSION =
  '`after` is a checkpoint of another version of Keytrail: start without it, and with `filter.since` at the last event that you have.';

/** The first version has no number. */
const FORMAT = /^(?:(\d+)\.)?([\w-]+)\.([\w-]*)$/;

const KNOWN_DIGEST = new RegExp(`.{${DIGEST_LENGTH}}`, 'g');
