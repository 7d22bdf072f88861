import { createHash } from 'node:crypto';
import { GatewayError } from '../errors.ts';
import type { Trail } from './trail.ts';

/** A cursor says which event it stands at, and where that was, because a trail grows and its ids may repeat. */
type Position = readonly [fingerprint: string, index: number, length: number];

/** The cursor of the event at an index: opaque to the caller. */
export function encodeCursor(trail: Trail, index: number): string {
  const position: Position = [fingerprint(trail, index), index, trail.length];
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/**
 * The index at which a cursor's event stands now. It is looked for where it was, counted from either end,
 * so records that arrived since, in front or behind, do not move it; then everywhere.
 * @throws GatewayError BAD_USER_INPUT when it is no cursor, or its event is no longer there.
 */
export function decodeCursor(trail: Trail, cursor: string): number {
  const [wanted, index, length] = parsePosition(cursor);
  const isThere = (candidate: number) =>
    candidate >= 0 && candidate < trail.length && fingerprint(trail, candidate) === wanted;
  const found =
    [index + trail.length - length, index].find(isThere) ??
    Array.from({ length: trail.length }, (_, candidate) => candidate).find(isThere);
  if (found !== undefined) return found;
  throw new GatewayError('BAD_USER_INPUT', {
    message: 'The event behind this cursor is no longer in the trail: start again without `after`.',
  });
}

function fingerprint(trail: Trail, index: number): string {
  const { id, raw } = trail.event(index);
  return createHash('sha256')
    .update(id ?? JSON.stringify(raw))
    .digest('base64url')
    .slice(0, 16);
}

function parsePosition(cursor: string): Position {
  try {
    const position: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (isPosition(position)) return position;
  } catch {
    // falls through: whatever it is, it is no cursor
  }
  throw new GatewayError('BAD_USER_INPUT', {
    message: 'This is not a cursor of this trail: take one from `endCursor` or an edge.',
  });
}

function isPosition(value: unknown): value is Position {
  if (!Array.isArray(value) || value.length !== 3) return false;
  const [print, index, length]: readonly unknown[] = value;
  return typeof print === 'string' && Number.isSafeInteger(index) && Number.isSafeInteger(length);
}
