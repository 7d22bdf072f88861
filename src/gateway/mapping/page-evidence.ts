/** What a response says about further pages. */
export type Announcement = 'more' | 'end' | null;

/**
 * What a flag, a range or a count says about further pages, and the entry of the contract with which it can be denied. A
 * count says that there are more if it is larger than what was read.
 */
export type Claim = { readonly entry: 'more' | 'total' | 'pages' } & (
  | { readonly says: 'more' | 'end' }
  | { readonly of: 'pages' | 'records'; readonly count: number }
);

/** What a response says about further pages in any field or header that inference knows, whatever is configured. */
export type PageEvidence = {
  /** A flag, or else counts, and a flag that is weaker: the first claim that says something is right. */
  readonly claims: readonly Claim[];
  /** That a first page is probably not the last: it is a part of an unknown whole, or the total is a lower bound. */
  readonly ofFirstPage: Claim | null;
  /** Whether a flag or a failure may say that there are more: not with `paging.more: null`. */
  readonly hasFlags: boolean;
  /** Whether there is a link to a next page, or a cursor. */
  readonly hasNext: boolean;
  /** Whether the total is an estimate or a lower bound, and so may be the number of pages. */
  readonly isInexact: boolean;
  /** Whether a count of records is above 0. */
  readonly hasCount: boolean;
  readonly place: PagePlace;
};

/** Where a page is in its list; null for what is not stated. */
export type PagePlace = {
  readonly range: Range | null;
  /** The offset of the page's first record, from 0 or 1 on. */
  readonly offset: number | null;
  /** The number of records of a full page. */
  readonly size: number | null;
  /** The number of this page, and the number of pages. */
  readonly page: number | null;
  readonly pages: number | null;
  /** The number of records on all later pages. */
  readonly remaining: number | null;
};

/** A range of records: the first, from 0 on, the one after the last, and the number of all; null for an unknown number. */
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

/** What a claim says, given what was read up to the page; null if that is unknown. */
export function saidBy(claim: Claim, read: PageCounts | null): Announcement {
  if ('says' in claim) return claim.says;
  return read !== null && claim.count > read[claim.of] ? 'more' : null;
}
