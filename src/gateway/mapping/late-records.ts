/** A late record is delivered if it arrives after at most this number of newer ones. */
export const MAX_LATE = 32;

/** Old records in a row after which no new one follows: one more than a record may be late. */
export const ENOUGH_OLD = MAX_LATE + 1;
