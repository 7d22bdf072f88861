import { GatewayError } from '../errors.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import type { AuditEvent } from './event.ts';
import type { Trail } from './trail.ts';

/** A window on a trail, as a connection wants it (GraphQL Cursor Connections Specification). */
export type Page = {
  readonly edges: readonly { readonly cursor: string; readonly node: AuditEvent }[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
  /** How many events there are on all pages; null when that cannot be told. */
  totalCount(): number | null;
  /** The answer that the page was read from. */
  readonly raw: unknown;
};

/** Which window. */
export type PageArguments = {
  /** 1 to 1000; 50 where it is left out. */
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  /** Which events count; all where it is left out. */
  readonly where?: ((event: AuditEvent) => boolean) | undefined;
};

const MAX_FIRST = 1000;

/** GraphQL's Int ends here. */
const MAX_INT = 2 ** 31 - 1;

/**
 * Opens a window on a trail.
 * @throws GatewayError BAD_USER_INPUT for a `first` out of range, or an `after` that is no cursor.
 */
export function readPage(trail: Trail, { first, after, where }: PageArguments): Page {
  const size = first ?? 50;
  if (size < 1 || size > MAX_FIRST) {
    throw new GatewayError('BAD_USER_INPUT', { message: '`first` must be between 1 and 1000.' });
  }
  const start = after == null ? 0 : decodeCursor(trail, after) + 1;
  const indices = matching(trail, start, where)
    .take(size + 1)
    .toArray();
  return {
    edges: indices
      .slice(0, size)
      .map((index) => ({ cursor: encodeCursor(trail, index), node: trail.event(index) })),
    hasNextPage: indices.length > size,
    hasPreviousPage: start > 0,
    totalCount: () => count(trail, where),
    raw: trail.raw,
  };
}

/** The indices of the events that count, from one on; events are read only as far as they are asked for. */
function* matching(trail: Trail, start: number, where: PageArguments['where']): Generator<number> {
  for (let index = start; index < trail.length; index += 1) {
    if (where === undefined || where(trail.event(index))) yield index;
  }
}

/** A service that counts more records than it sent has sent only some: how many match in all is then unknown. */
function count(trail: Trail, where: PageArguments['where']): number | null {
  const total = Math.max(trail.total ?? 0, trail.length);
  if (total > MAX_INT) return null;
  if (where === undefined) return total;
  return total > trail.length ? null : matching(trail, 0, where).toArray().length;
}
