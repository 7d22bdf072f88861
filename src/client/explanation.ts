/** How an entry of the contract was read. */
export type ExplainedEntry = {
  /** JSON pointers, or a header, as in a contract. */
  readonly at: string | readonly string[] | { readonly header: string } | null;
  readonly by?: 'contract' | 'inference';
} & Readonly<Partial<Record<'as' | 'found' | 'why', string>>>;

type Entries<Name extends string> = Readonly<Record<Name, ExplainedEntry>>;
type Field = 'id' | 'occurredAt' | 'action' | 'outcome' | 'ipAddress' | 'userAgent';
type Parties = Record<'actor' | 'target', Entries<'identifier' | 'name' | 'type'>>;

/** `extensions.explain` of a result. It contains no value of the client or the service. */
export type Explanation = {
  readonly calls: readonly ({ readonly sent?: false } & Readonly<
    Record<'field' | 'method' | 'path', string> &
      Record<'attempts' | 'ms', number> &
      Partial<Record<'status' | 'bytes', number> & Record<'why' | 'curl', string>>
  >)[];
  readonly mapping?: Partial<
    Entries<'records' | 'total'> & {
      readonly login: Entries<'accessToken' | 'refreshToken' | 'tokenType' | 'expires'>;
      readonly event: Entries<Field> & Readonly<Parties>;
      readonly paging: Readonly<Record<'style' | 'by', string>> &
        Partial<Entries<'next' | 'more' | 'position' | 'pages'>>;
    }
  >;
  readonly filter?: Readonly<Record<'forwarded' | 'checkedByGateway', readonly string[]>>;
};
