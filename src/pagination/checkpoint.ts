import { GatewayError } from '../errors.ts';
import { LIST_ORDERS, type ListOrder } from '../mapping/contract.ts';
import type { PageToken } from '../mapping/next-page.ts';
import { fromTokenParts, toTokenParts } from './cursor.ts';

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

/** 42 bits in base64url. With 64 known records, a new one equals one of them by chance once in 7 × 10^10. */
export const DIGEST_LENGTH = 7;

const ORDERS = [null, ...LIST_ORDERS] as const;

/** Encodes a checkpoint: base64url of a JSON array, then the digests. Opaque to clients; about 500 characters. */
export function encodeCheckpoint(checkpoint: Checkpoint): string {
  const { known, isWhole, order, start, selection } = checkpoint;
  const head = [ORDERS.indexOf(order), Number(isWhole), selection];
  const parts = start === null ? head : [...head, ...toTokenParts(start)];
  return `${Buffer.from(JSON.stringify(parts)).toString('base64url')}.${known.join('')}`;
}

/** @throws GatewayError BAD_USER_INPUT if it is not a checkpoint. */
export function decodeCheckpoint(text: string): Checkpoint {
  const [, encoded = '', digests = ''] = /^([\w-]+)\.([\w-]*)$/.exec(text) ?? [];
  const parts = parse(encoded);
  const [order, whole, selection, ...request]: readonly unknown[] = Array.isArray(parts)
    ? parts
    : [];
  const start = fromTokenParts(request);
  const known = digests.match(KNOWN_DIGEST) ?? [];
  if (
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
  throw new GatewayError('BAD_USER_INPUT', {
    message: '`after` is not a checkpoint: use `checkpoint` of an earlier payload, or null.',
  });
}

const KNOWN_DIGEST = new RegExp(`.{${DIGEST_LENGTH}}`, 'g');

function parse(encoded: string): unknown {
  try {
    return JSON.parse(Buffer.from(encoded, 'base64url').toString());
  } catch {
    return null;
  }
}
