import { hash } from 'node:crypto';
import { GatewayError } from '../errors.ts';
import type { Step } from '../reading/paging.ts';
import type { Trail } from '../reading/trail.ts';

/** Where an event stands: on which page, and where there. A trail grows and its ids may repeat, so it takes all of this to find it again. */
export type Position = {
  readonly fingerprint: string;
  readonly index: number;
  readonly length: number;
  /** What led to the page; null for the first. */
  readonly step: Step | null;
};

/** The cursor of the event at an index of a page: opaque to the caller. */
export function encodeCursor(trail: Trail, index: number, step: Step | null = null): string {
  const position = [fingerprint(trail, index), index, trail.length];
  const way = step === null ? [] : 'link' in step ? [step.link] : [step.parameter, step.value];
  return Buffer.from(JSON.stringify([...position, ...way])).toString('base64url');
}

/** @throws GatewayError BAD_USER_INPUT when it is no cursor. */
export function decodeCursor(cursor: string): Position {
  const parts = parse(cursor);
  const [print, index, length, one, two, ...more]: readonly unknown[] = Array.isArray(parts)
    ? parts
    : [];
  const step = toStep(one, two);
  if (
    typeof print === 'string' &&
    isIndex(index) &&
    isIndex(length) &&
    step !== undefined &&
    more.length === 0
  ) {
    return { fingerprint: print, index, length, step };
  }
  throw new GatewayError('BAD_USER_INPUT', {
    message: 'This is not a cursor of this trail: take one from `endCursor` or an edge.',
  });
}

/**
 * The index at which a position's event stands now, -1 when it is not on this page. It is looked for where it was,
 * counted from either end, so records that arrived since, in front or behind, do not move it; then everywhere.
 */
export function findEvent(trail: Trail, { fingerprint: wanted, index, length }: Position): number {
  const isThere = (candidate: number) =>
    candidate >= 0 && candidate < trail.length && isSame(wanted, fingerprint(trail, candidate));
  const likely = [index + trail.length - length, index].find(isThere);
  if (likely !== undefined) return likely;
  for (let candidate = 0; candidate < trail.length; candidate += 1) {
    if (isThere(candidate)) return candidate;
  }
  return -1;
}

/** What tells an event from others: its id and all of it, as either may change: what is taken for the id, and what is told with it. */
function fingerprint(trail: Trail, index: number): string {
  const { id, raw } = trail.event(index);
  return `${id === null ? NAMELESS : digest(id)}${digest(JSON.stringify(raw))}`;
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, 12);
}

const NAMELESS = digest('');

function isSame(one: string, other: string): boolean {
  const isNamed = !one.startsWith(NAMELESS);
  return one.slice(12) === other.slice(12) || (isNamed && one.slice(0, 12) === other.slice(0, 12));
}

function parse(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return null;
  }
}

function toStep(one: unknown, two: unknown): Step | null | undefined {
  if (one === undefined) return null;
  if (typeof one !== 'string') return undefined;
  if (two === undefined) return { link: one };
  return typeof two === 'string' ? { parameter: one, value: two } : undefined;
}

function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value);
}
