import type { TimeFormat, TimeNotation } from './time.ts';
import type { EventOutcome } from './values.ts';

/**
 * A JSON pointer (RFC 6901). Of a list of pointers, the first one that resolves to a value other than null wins. Null
 * if the responses have no such field.
 */
export type Pointers = string | readonly string[] | null;

/** A field of the body, or a header, of a response. */
export type Source = Pointers | { readonly header: string };

/** Format of an expiry: a lifetime, the `exp` claim of a JWT (RFC 7519, section 4.1.4), or an instant. */
export type ExpiryFormat = 'seconds' | 'milliseconds' | 'jwt' | TimeFormat;

/** Pointers of a text that holds two facts, and which one to read: 1 is before the first separator, 2 after it. */
export type Split = {
  readonly at: Pointers;
  /** The separator. A text without it has only part 2. */
  readonly split: string;
  readonly part: 1 | 2;
};

/** Pointers of a field, with the text for each of its values, or of a part of it, or both. */
export type Mapped<Text extends string = string> = Pick<Split, 'at'> & {
  readonly [Name in 'split' | 'part']?: Split[Name] | undefined;
} & {
  /** A value that is not in the map is null. */
  readonly map?: Readonly<Record<string, Text>> | undefined;
  /** `keep`: a value that is not in the map stays as it is. */
  readonly else?: 'keep' | undefined;
};

/** Maps the response of a login. */
export type LoginContract = {
  readonly accessToken: Source;
  readonly refreshToken: Source;
  readonly tokenType: Source;
  readonly expires: (TimeNotation<ExpiryFormat> & { readonly at: Source }) | null;
};

/** Maps the actor or the target of a record. Pointers are relative to the record. */
export type PartyContract = {
  readonly identifier: Pointers | Split;
  readonly name: Pointers | Split;
  readonly type: Pointers | Mapped;
  /** Whether the party is an API key: always, or if it has one of these types. Null: never. */
  readonly apiKey?: true | readonly string[] | null;
};

/** The parts of a party that are read from a record. */
export type PartyPart = Exclude<keyof PartyContract, 'apiKey'>;

/** A time with the format of its values. With `join`, the values of all pointers are joined by this text. */
export type FormattedTime = TimeNotation<TimeFormat> & {
  readonly at: Pointers;
  readonly join?: string | undefined;
};

/** Maps one record of the audit trail. Pointers are relative to the record. */
export type EventContract = {
  readonly id: Pointers;
  /** Without `as`, the format is detected from each value. */
  readonly occurredAt: Pointers | FormattedTime;
  readonly action: Pointers | Mapped;
  readonly outcome: Pointers | Omit<Mapped<EventOutcome>, 'else'>;
  readonly actor: PartyContract;
  readonly target: PartyContract;
  readonly ipAddress: Pointers;
  readonly userAgent: Pointers;
};

/** Every style of pagination. */
export const PAGING_STYLES = [
  ...(['none', 'cursor', 'page', 'offset'] as const),
  ...(['next-link', 'link-header', 'last-id', 'last-value'] as const),
] as const;

/** How a service paginates a list. */
export type PagingStyle = (typeof PAGING_STYLES)[number];

/** Specifies how to request the next page of a list. */
export type PagingContract = {
  readonly style: PagingStyle;
  /** The cursor of the next page, or the link to it. */
  readonly next: Source;
  /** Whether there are more pages. If false, this page is the last. */
  readonly more: Source;
  /** The number of this page, or the offset of its first record. */
  readonly position: Source;
  /** The number of pages. */
  readonly pages: Source;
  /** The number of the first page, or the first offset, if the response has no `position`. */
  readonly start: number;
  /** The service's query parameter for a cursor, a page number, an offset, the last ID or the last value. */
  readonly parameter: string | null;
  /** `query`: only the query of a link is used, whatever its host and path. Null: a link must lead to the same path. */
  readonly follow: 'query' | null;
  /** With the style `last-value`: the value, relative to a record. */
  readonly last: Pointers;
  /** Whether the page after a value begins with the records that have this value. */
  readonly inclusive: boolean | null;
  /** The service's query parameter for the page size. */
  readonly size: string | null;
};

/** Maps a response that contains a list of records. */
export type ListContract = {
  /** Pointer of an array, or of an object whose members are the records. A token of one asterisk matches every group. */
  readonly records: string | null;
  /** The number of all records, on all pages. */
  readonly total: Source;
  readonly paging: PagingContract;
};

/** Whether a list begins with its newest or its oldest record. */
export const LIST_ORDERS = ['newest-first', 'oldest-first'] as const;

/** One of {@link LIST_ORDERS}. */
export type ListOrder = (typeof LIST_ORDERS)[number];

/** Maps the response of the audit trail. */
export type AuditContract = ListContract & {
  /** The order of the records. Null: inferred from their times, where it matters. */
  readonly order?: ListOrder | null;
  /** What identifies a record: the values at all of these pointers. Null: the whole record. */
  readonly identity?: Pointers;
  /** The service's own query parameters for conditions of the filter. */
  readonly parameters: Readonly<Record<'since' | 'until' | 'actor' | 'action', string | null>>;
  readonly event: EventContract;
};

/** A `ListContract` whose envelope is inferred when first read. */
export type LazyListContract = Omit<ListContract, 'total' | 'paging'> & {
  readonly total: () => Source;
  readonly paging: () => PagingContract;
  readonly announcements: () => Announcements;
};

/** What a response says about further pages in any field or header that inference knows, whatever is configured. */
export type Announcements = {
  /** By a flag or a count, given how much was read up to this page; null for an unknown number. */
  announcedBy(counts: PageCounts | null): 'more' | 'end' | null;
  /** By a flag, or the range of a partial response. */
  readonly flag: 'more' | 'end' | null;
  /**
   * Whether a first page is probably not the last, and the entry that denies it: the response is a part of an unknown
   * whole, or the total is a lower bound.
   */
  readonly firstOfMore: 'more' | 'total' | null;
  /** Whether there is a link to a next page, or a cursor. */
  readonly hasNext: boolean;
  /** Whether the total is an estimate or a lower bound, and so may be the number of pages. */
  readonly isInexact: boolean;
  /** Whether a count of records is above 0. */
  readonly hasCount: boolean;
  /** Whether the body is only a list, or an object with no other member. */
  readonly isListOnly: boolean;
  /** Pointer of the number of records on all later pages. */
  readonly remaining: Source;
  /** The position of the page's records in the list, from 0 on, as a range of the response states it. */
  readonly range: Range | null;
  /** The offset of the page's first record, from 0 or 1 on, and the number of records of a full page, if they are stated. */
  readonly offset: number | null;
  readonly size: number | null;
};

/** A range of records: the first, the one after the last, and the number of all; null for an unknown number. */
export type Range = {
  readonly start: number;
  readonly end: number;
  readonly total: number | null;
};

/** Numbers of pages and of records, how many of the pages had none, and the records of the largest page if they differ. */
export type PageCounts = Readonly<Record<'pages' | 'records', number>> & {
  readonly empty?: number;
  readonly largest?: number;
};

/** An `AuditContract` whose envelope and event are inferred when first read. */
export type LazyAuditContract = LazyListContract &
  Pick<AuditContract, 'parameters' | 'identity'> & { readonly event: Lazy<EventContract> };

/** A part of a contract in which each entry may be a function that infers it. */
export type Lazy<T> = [T] extends [Entry]
  ? T | (() => T)
  : { readonly [Name in keyof T]: Lazy<T[Name]> };

/** Specifies where each field is in the responses of the service. */
export type Contract = { readonly login: LoginContract; readonly audit: AuditContract };

/** An entry that is configured as a whole or not at all. */
type Entry = Source | number | boolean | undefined | { readonly at: Source };

/** A contract in which every entry is optional. Missing entries are inferred from each response. */
export type DeepPartial<T> = T extends Entry
  ? T
  : { readonly [Name in keyof T]?: DeepPartial<T[Name]> | undefined };

/** A contract as configured, by a file or an option. Missing entries are inferred from each response. */
export type ConfiguredContract = DeepPartial<Contract> & {
  /** The JSON Schema of the file, for editors. */
  readonly $schema?: string | undefined;
};
