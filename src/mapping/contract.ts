import type { UpstreamResponse } from '../upstream/types.ts';
import { compilePointer, type PointerReader } from './json-pointer.ts';
import type { InstantFormat } from './time.ts';

/** An RFC 6901 pointer, or several of which the first counts that is there and not null. Null: nowhere, do not look. */
export type Pointers = string | readonly string[] | null;

/** A place in the body of an answer, or a header of it. */
export type Source = Pointers | { readonly header: string };

/** How the end of a token is given: how long it lasts, an instant, or inside of the token itself (RFC 7519, section 4.1.4). */
export type ExpiryFormat = 'seconds' | 'milliseconds' | 'jwt' | InstantFormat;

/** Where the answer of a login holds what. */
export type LoginContract = {
  readonly accessToken: Source;
  readonly refreshToken: Source;
  readonly tokenType: Source;
  readonly expires: { readonly at: Source; readonly as: ExpiryFormat } | null;
};

/** Where a record names somebody or something; pointers are relative to the record. */
export type PartyContract = {
  readonly identifier: Pointers;
  readonly name: Pointers;
  readonly type: Pointers;
};

/** Where one record holds what; pointers are relative to the record. */
export type EventContract = {
  readonly id: Pointers;
  /** Without `as` the format is told by the look. */
  readonly occurredAt: Pointers | { readonly at: Pointers; readonly as: InstantFormat };
  readonly action: Pointers;
  readonly outcome: Pointers;
  readonly actor: PartyContract;
  readonly target: PartyContract;
  readonly ipAddress: Pointers;
  readonly userAgent: Pointers;
};

/** How a service continues an answer that does not hold everything. */
export const PAGING_STYLES = [
  ...(['none', 'cursor', 'page', 'offset'] as const),
  ...(['next-link', 'link-header', 'last-id'] as const),
] as const;

export type PagingStyle = (typeof PAGING_STYLES)[number];

/** How the next page is asked for. */
export type PagingContract = {
  readonly style: PagingStyle;
  /** Where the answer holds the cursor of the next page, or the link to it. */
  readonly next: Source;
  /** Where the answer says whether there is more; false ends it. */
  readonly more: Pointers;
  /** Where the answer says which page it is, or at which offset it starts. */
  readonly position: Pointers;
  /** Where the answer says how many pages there are. */
  readonly pages: Pointers;
  /** The number of the first page, or the first offset, where the answer does not say. */
  readonly start: number;
  /** The service's query parameter for a cursor, a page, an offset or a last id. */
  readonly parameter: string | null;
  /** The service's query parameter for the number of records in a page. */
  readonly size: string | null;
};

/** Where the answer of the audit trail holds what, and what can be asked of it. */
export type AuditContract = {
  /** A list of records, or an object whose members are the records. */
  readonly records: string | null;
  readonly total: Source;
  readonly paging: PagingContract;
  /** The service's own query parameters for conditions of the filter. */
  readonly parameters: Readonly<Record<'since' | 'until' | 'actor' | 'action', string | null>>;
  readonly event: EventContract;
};

/** The same, where what stands around the records, and the entries of the event, are told when they are asked for. */
export type LazyContract = Omit<AuditContract, 'total' | 'paging' | 'event'> & {
  readonly total: () => Source;
  readonly paging: () => PagingContract;
  readonly event: Lazy<EventContract>;
};

export type Lazy<T> = [T] extends [Entry]
  ? T | (() => Pointers)
  : { readonly [Name in keyof T]: Lazy<T[Name]> };

/** Where the answers hold what. */
export type Contract = { readonly login: LoginContract; readonly audit: AuditContract };

/** What is given as a whole or not at all. */
type Entry = Source | number | { readonly at: Source; readonly as: string };

/** A contract with gaps, which are inferred from each answer. */
export type DeepPartial<T> = T extends Entry
  ? T
  : { readonly [Name in keyof T]?: DeepPartial<T[Name]> | undefined };

/** A contract as its file gives it. */
export type ConfiguredContract = DeepPartial<Contract>;

/** Finds what stands at the first of the pointers that leads to something; null or `undefined` where none does. */
export function compilePointers(pointers: Lazy<Pointers>): (value: unknown) => unknown {
  let find: PointerReader | undefined;
  return (value) => {
    find ??= firstOf(typeof pointers === 'function' ? pointers() : pointers);
    return find(value);
  };
}

function firstOf(pointers: Pointers): PointerReader {
  const ways = (typeof pointers === 'string' ? [pointers] : (pointers ?? [])).map(compilePointer);
  // Where there is one, as nearly always, it is called directly: it is for each field of each record.
  return ways.length > 0
    ? ways.reduceRight((next, way) => (value) => way(value) ?? next(value))
    : () => null;
}

/** What a source gives of an answer; null where it gives nothing. A header that came twice counts once. */
export function readSource(source: Source, { headers, body }: UpstreamResponse): unknown {
  if (source === null || typeof source === 'string' || !('header' in source))
    return compilePointers(source)(body) ?? null;
  return [headers[source.header.toLowerCase()]].flat()[0] ?? null;
}
