import type { ConfiguredContract } from '../../mapping/contract.ts';

/** A contract that may read a field that is null. */
export type Suggestion = {
  /** What to add to `audit.event`. */
  readonly contract: NonNullable<NonNullable<ConfiguredContract['audit']>['event']>;
  /** Its pointers, each with the first value that it leads to. */
  readonly examples: readonly { readonly pointer: string; readonly value: unknown }[];
  /** Texts of its field that it does not read. */
  readonly unmapped?: readonly string[];
};
