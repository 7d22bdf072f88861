import { hash } from 'node:crypto';
import { GatewayError } from '../errors.ts';
import type { PageToken } from '../mapping/pagination.ts';
import { memoizePerTrail, type Trail } from '../mapping/trail.ts';

/** Where an event stands: on which page, and where there. A trail grows and its ids may repeat, so it takes all of this to find it again. */
export type CursorPosition = {
  readonly fingerprint: string;
  readonly index: number;
  /** By what is told how many records arrived in front since: the page's length, or of one that was cut its first record. */
  readonly origin: number | string;
  /** What led to the page; null for the first. */
  readonly step: PageToken | null;
};

/** An event, by where it stands. */
export type Edge = {
  readonly trail: Trail;
  readonly index: number;
  /** What led to its page of the service; null to the first. */
  readonly step: PageToken | null;
};

/** The cursor of an event: opaque to the caller. */
export function encodeCursor({ trail, index, step }: Edge): string {
  const origin = trail.isPartial ? printRecord(trail, 0) : trail.length;
  const position = [fingerprint(trail, index), index, origin];
  const way = step === null ? [] : toParts(step);
  return Buffer.from(JSON.stringify([...position, ...way])).toString('base64url');
}

/** @throws GatewayError BAD_USER_INPUT when it is no cursor. */
export function decodeCursor(cursor: string): CursorPosition {
  const parts = parse(cursor);
  const [print, index, origin, ...way]: readonly unknown[] = Array.isArray(parts) ? parts : [];
  const step = toStep(way);
  if (
    typeof print === 'string' &&
    isIndex(index) &&
    (isIndex(origin) || typeof origin === 'string') &&
    step !== undefined
  ) {
    return { fingerprint: print, index, origin, step };
  }
  throw new GatewayError('BAD_USER_INPUT', {
    message: 'This is not a cursor of this trail: take one from `endCursor` or an edge.',
  });
}

/**
 * The index at which a position's event stands now, -1 when it is not on this page. It is looked for where it was,
 * counted from either end, so records that arrived since, in front or behind, do not move it; then everywhere; and by
 * its id alone only where no record is the same.
 */
export function findItem(
  trail: Trail,
  { fingerprint: wanted, index, origin }: CursorPosition,
): number {
  const arrived =
    typeof origin === 'number'
      ? trail.length - origin
      : Math.max(
          0,
          indexWhere(trail, (candidate) => printRecord(trail, candidate) === origin),
        );
  // A record may have changed; but where ids are those of operations, several have the same.
  for (const isIt of [isSameRecord, isSameId]) {
    const isThere = (candidate: number) =>
      candidate >= 0 && candidate < trail.length && isIt(wanted, fingerprint(trail, candidate));
    const found = [index + arrived, index].find(isThere) ?? indexWhere(trail, isThere);
    if (found >= 0) return found;
  }
  return -1;
}

function indexWhere(trail: Trail, holds: (index: number) => boolean): number {
  for (let index = 0; index < trail.length; index += 1) {
    if (holds(index)) return index;
  }
  return -1;
}

const fingerprintsOf = memoizePerTrail(() => new Map<number, string>());

/** What tells an event from others: its id and all of it, as either may change: what is taken for the id, and what is told with it. */
export function fingerprint(trail: Trail, index: number): string {
  const known = fingerprintsOf(trail);
  const found = known.get(index);
  if (found !== undefined) return found;
  const { id, raw } = trail.event(index);
  const made = `${id === null ? NAMELESS : digest(id)}${digest(JSON.stringify(raw))}`;
  known.set(index, made);
  return made;
}

/** What tells a record from others, whatever is taken for its id. */
function printRecord(trail: Trail, index: number): string {
  return fingerprint(trail, index).slice(12);
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 12);
}

const NAMELESS = digest('');

function isSameRecord(one: string, other: string): boolean {
  return one.slice(12) === other.slice(12);
}

function isSameId(one: string, other: string): boolean {
  return !one.startsWith(NAMELESS) && one.slice(0, 12) === other.slice(0, 12);
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return null;
  }
}

function toParts(step: PageToken): readonly unknown[] {
  if ('link' in step) return [step.link];
  const { parameter, value, passed } = step;
  return passed ? [parameter, value, passed.pages, passed.records] : [parameter, value];
}

function toStep(parts: readonly unknown[]): PageToken | null | undefined {
  const [one, value, pages, records] = parts;
  if (parts.length === 0) return null;
  if (typeof one !== 'string' || parts.length > 4) return undefined;
  if (parts.length === 1) return { link: one };
  if (typeof value !== 'string') return undefined;
  if (parts.length === 2) return { parameter: one, value };
  const isPassed = isIndex(pages) && isIndex(records);
  return isPassed ? { parameter: one, value, passed: { pages, records } } : undefined;
}

function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
