import type { AuditQuery } from './operations.generated.ts';

type Source = string | { readonly header: string };

/**
 * How an entry of the contract was read: where, by whom and why, in how many records, and why it is null in the others.
 * If inference is not certain enough, `candidates` has the fields that may be right.
 */
export type ExplainedEntry = Readonly<
  Partial<Record<'as' | 'split' | 'by' | 'found' | 'why', string>>
> & {
  readonly part?: 1 | 2;
  readonly at: Source | readonly Source[] | null;
  /** How certain inference is, from 0 to 1. */
  readonly confidence?: number;
  /** The strongest reasons of inference, at most three. */
  readonly because?: readonly string[];
  /** Best first, at most three. */
  readonly candidates?: readonly { readonly at: string; readonly confidence: number }[];
};

type Entries<Name extends PropertyKey> = Readonly<Record<Name, ExplainedEntry>>;
type Event = NonNullable<AuditQuery['audit']>['nodes'][number];
type Role = 'actor' | 'target';

/** `extensions.explain` of a result. It contains no value of the client or the service. */
export type Explanation = {
  readonly calls: readonly ({ readonly sent?: false } & Readonly<
    Record<'field' | 'method' | 'path', string> &
      Record<'attempts' | 'ms', number> &
      Partial<Record<'status' | 'bytes', number> & Record<'why' | 'curl', string>>
  >)[];
  readonly mapping?: Partial<Entries<'total'>> & {
    /** `nulls`: the nulls in the lists that were read, which are no records. */
    readonly records?: ExplainedEntry & { readonly nulls?: number };
    readonly paging?: ExplainedEntry & { readonly style: string };
    readonly login?: Entries<'accessToken' | 'refreshToken' | 'tokenType' | 'expires'>;
    readonly deletion?: Entries<'outcome'>;
    readonly event?: Entries<Exclude<keyof Event, Role | 'raw'>> & {
      readonly [Name in Role]: Entries<keyof NonNullable<Event[Name]>>;
    };
  };
  readonly filter?: Readonly<Record<'forwarded' | 'checkedByGateway', readonly string[]>>;
};
