import { GatewayError } from '../errors.ts';
import { LIST_ORDERS, type ListOrder } from '../mapping/contract.ts';
import type { PageToken } from '../mapping/next-page.ts';
import { fromTokenParts, toTokenParts } from './cursor.ts';
import { DIGEST_LENGTH } from './digest.ts';

/** Where a tail continues: what is known of the list. */
export type Checkpoint = {
  /** Digests of the newest records, newest first. */
  readonly known: readonly string[];
  /** Whether the list had no other records. */
  readonly isWhole: boolean;
  /** Null if the list has one record at most, or only one time. */
  readonly order: ListOrder | null;
  /** The page at which a poll of a list with the oldest first begins. Null: the first. */
  readonly start: PageToken | null;
  /** Digest of the query parameters that select what the service lists. */
  readonly selection: string;
};

/** A late record is delivered if it arrives after at most this number of newer ones. */
export const MAX_LATE = 32;

/** Newest records that a checkpoint knows. If up to 31 of them are removed, a late record is still before the last of them. */
export const MAX_KNOWN = 2 * MAX_LATE;

const ORDERS = [null, ...LIST_ORDERS] as const;

/** The version of the format. The first one had digests of 42 bits and no version. */
const VERSION = '2';

/**
 * Encodes a checkpoint: the version, base64url of a JSON array, the digests. Opaque to clients; about 1,500 characters,
 * and the service's cursor if it has one.
 */
export function encodeCheckpoint(checkpoint: Checkpoint): string {
  const { known, isWhole, order, start, selection } = checkpoint;
  const head = [ORDERS.indexOf(order), Number(isWhole), selection];
  const parts = start === null ? head : [...head, ...toTokenParts(start)];
  const encoded = Buffer.from(JSON.stringify(parts)).toString('base64url');
  return [VERSION, encoded, known.join('')].join('.');
}

/** @throws GatewayError BAD_USER_INPUT if it is not a checkpoint, or one of an earlier version. */
export function decodeCheckpoint(text: string): Checkpoint {
  const [, version, encoded = '', digests = ''] = FORMAT.exec(text) ?? [];
  const parts = parse(encoded);
  const [order, whole, selection, ...request]: readonly unknown[] = Array.isArray(parts)
    ? parts
    : [];
  const start = fromTokenParts(request);
  const known = digests.match(KNOWN_DIGEST) ?? [];
  if (
    version === VERSION &&
    typeof order === 'number' &&
    ORDERS[order] !== undefined &&
    (whole === 0 || whole === 1) &&
    typeof selection === 'string' &&
    start !== undefined &&
    known.length <= MAX_KNOWN &&
    known.join('') === digests
  ) {
    return { known, isWhole: whole === 1, order: ORDERS[order], start, selection };
  }
  const isFirstVersion = version === undefined && encoded !== '' && Array.isArray(parts);
  throw new GatewayError('BAD_USER_INPUT', { message: isFirstVersion ? OUTDATED : NO_CHECKPOINT });
}

const NO_CHECKPOINT =
  '`after` is not a checkpoint: use `checkpoint` of an earlier payload, or null.';

const OUTDATED =
  '`after` is a checkpoint of an earlier version of Keytrail: start without it, and with `filter.since` at the last event that you have.';

/** The first version has no number. */
const FORMAT = /^(?:(\d+)\.)?([\w-]+)\.([\w-]*)$/;

const KNOWN_DIGEST = new RegExp(`.{${DIGEST_LENGTH}}`, 'g');

function parse(encoded: string): unknown {
  try {
    return JSON.parse(Buffer.from(encoded, 'base64url').toString());
  } catch {
    return null;
  }
}
