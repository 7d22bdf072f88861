import { AUDIT_EVENT } from './event-fields.ts';
import type { PageEvidence } from './page-evidence.ts';
import type { TimeFormat, TimeNotation } from './time.ts';
import { type EventOutcome, isObject } from './values.ts';

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

/** What a 2xx response to a deletion may mean. */
export const DELETION_RESULTS = ['DELETED', 'ACCEPTED', 'NOT_FOUND', 'FAILED'] as const;

/** One of {@link DELETION_RESULTS}. */
export type DeletionResult = (typeof DELETION_RESULTS)[number];

/** Pointers of a field, with what each of its values means. A value that is not in the map is an error. */
export type MappedDeletion = Omit<Mapped<DeletionResult>, 'map' | 'else'> & {
  readonly map: Readonly<Record<string, DeletionResult>>;
};

/** What a value of `errors` may mean. */
export const ERROR_CODES = [
  ...(['UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND', 'CONFLICT'] as const),
  ...(['RATE_LIMITED', 'BAD_USER_INPUT', 'UPSTREAM_ERROR'] as const),
] as const;

/** A code of a failure; null: no failure. */
export type MappedError = (typeof ERROR_CODES)[number] | null;

/** A field or a header that says whether a request succeeded, with what each of its values means. */
export type MappedErrors = {
  readonly at: Exclude<Source, null>;
  readonly map: Readonly<Record<string, MappedError>>;
  /** Of a value that is not in the map. Without it, such a value is not understood. */
  readonly else?: MappedError | undefined;
};

/** A time with the format of its values. With `join`, the values of all pointers are joined by this text. */
export type FormattedTime = TimeNotation<TimeFormat> & {
  readonly at: Pointers;
  readonly join?: string | undefined;
};

/** Every style of pagination. */
export const PAGING_STYLES = [
  ...(['none', 'cursor', 'page', 'offset'] as const),
  ...(['next-link', 'link-header', 'last-id', 'last-value'] as const),
] as const;

/** How a service paginates a list. */
export type PagingStyle = (typeof PAGING_STYLES)[number];

/** Whether a list begins with its newest or its oldest record. */
export const LIST_ORDERS = ['newest-first', 'oldest-first'] as const;

/** One of {@link LIST_ORDERS}. */
export type ListOrder = (typeof LIST_ORDERS)[number];

/** What an entry of each kind may be. A kind that may be undefined is optional in a complete contract as well. */
export type EntryTypes = {
  readonly pointers: Pointers;
  readonly text: Pointers | Split;
  readonly mappedText: Pointers | Mapped;
  /** Without `as`, the format is detected from each value. */
  readonly time: Pointers | FormattedTime;
  readonly outcome: Pointers | Omit<Mapped<EventOutcome>, 'else'>;
  /** Always, or if the party has one of these types. Null: never. */
  readonly apiKey: true | readonly string[] | null | undefined;
  readonly source: Source;
  /** An empty pointer: the body is the token as plain text. */
  readonly accessToken: Source;
  /** Only pointers in a file. Inference finds headers as well. */
  readonly flag: Source;
  readonly number: Source;
  readonly expires: (TimeNotation<ExpiryFormat> & { readonly at: Source }) | null;
  /** Of an array, or of an object whose members are the records. A token of one asterisk matches every group. */
  readonly records: string | null;
  readonly identity: Pointers | undefined;
  readonly order: ListOrder | null | undefined;
  readonly style: PagingStyle;
  /** The first number of a page, or offset. */
  readonly start: number;
  /** The name of a query parameter. */
  readonly parameter: string | null;
  /** `query`: only the query of a link is used. Null: a link must lead to the same path. */
  readonly follow: 'query' | null;
  readonly switch: boolean | null;
  readonly schema: string | undefined;
  /** Null: the HTTP status alone decides. */
  readonly deletion: MappedDeletion | null | undefined;
  readonly errors: MappedErrors | undefined;
};

/** An entry of the contract, or a section of entries. Editors show its description, docs/contract-reference.md its kind. */
export type EntryTable = { readonly description: string } & (
  | { readonly kind: keyof EntryTypes }
  | { readonly entries: Readonly<Record<string, EntryTable>> }
);

/** An entry. Its description is no literal type, which the published types would contain. */
const entry = <Kind extends keyof EntryTypes>(kind: Kind, description: string) => ({
  kind,
  description,
});

/** Every entry of the contract. Its types, its check, its JSON Schema and its documentation follow this table. */
export const CONTRACT = {
  $schema: entry(
    'schema',
    'This JSON Schema, for editors: "node_modules/keytrail/dist/contract.schema.json".',
  ),
  errors: entry(
    'errors',
    'Whether a 2xx response of any operation reports a failure: {"at": pointers or header, "map": {"0": null, "12": "UNAUTHENTICATED", "77": "NOT_FOUND"}, "else": "UPSTREAM_ERROR"}. Null: no failure.',
  ),
  login: {
    description: 'The response of POST /api/v1/auth/login.',
    entries: {
      accessToken: entry(
        'accessToken',
        'Where the access token is: pointers, {"header": "name"}, or "" if the body is the token as plain text.',
      ),
      refreshToken: entry('source', 'Where the refresh token is: pointers, or {"header": "name"}.'),
      tokenType: entry(
        'source',
        'Where the token type is, such as Bearer: pointers, or {"header": "name"}.',
      ),
      expires: entry(
        'expires',
        'When the access token expires: {"at": pointers or header, "as": format}. The format is a lifetime (seconds, milliseconds), jwt (the claim exp), or one of a time.',
      ),
    },
  },
  audit: {
    description: 'The response of GET /api/v1/audit.',
    entries: {
      records: entry(
        'records',
        'Where the list of records is, or an object whose members are the records; "" if the response itself is the list. One token may be *, for records in groups: "/data/*/logs".',
      ),
      total: entry(
        'source',
        'Where the number of all records is, on all pages: pointers, or {"header": "name"}.',
      ),
      paging: {
        description: 'How to request the next page.',
        entries: {
          style: entry('style', 'How the service divides the list into pages.'),
          next: entry(
            'source',
            'Where the cursor of the next page or the link to it is: pointers, or {"header": "name"}.',
          ),
          more: entry('flag', 'Where a flag is that says whether there are more pages.'),
          position: entry(
            'number',
            'Where the number of this page, or the offset of its first record, is.',
          ),
          pages: entry('number', 'Where the number of pages is.'),
          start: entry(
            'start',
            'The number of the first page, or the first offset, if no field has it.',
          ),
          parameter: entry(
            'parameter',
            "The service's query parameter for a cursor, a page number, an offset, the last ID or the last value.",
          ),
          size: entry('parameter', "The service's query parameter for the page size."),
          follow: entry(
            'follow',
            '"query": take only the query of a link to the next page, whatever its host and path.',
          ),
          last: entry('pointers', 'With the style last-value: where the value is in a record.'),
          inclusive: entry(
            'switch',
            'With the style last-value: true if the next page has the records with this value again.',
          ),
        },
      },
      order: entry(
        'order',
        'Whether the trail begins with its newest or its oldest record, for `auditEvents`. Default: inferred from the times.',
      ),
      identity: entry(
        'identity',
        'What identifies a record, if a member differs in each response: the values at all of these pointers, relative to the record. Default: the whole record.',
      ),
      parameters: {
        description: "The service's own query parameters for conditions of the filter.",
        entries: {
          since: entry('parameter', 'The query parameter for filter.since.'),
          until: entry('parameter', 'The query parameter for filter.until.'),
          actor: entry('parameter', 'The query parameter for filter.actor.'),
          action: entry(
            'parameter',
            'The query parameter for the action, if filter.actions has one.',
          ),
        },
      },
      event: {
        description: 'The fields of a record. Pointers are relative to the record.',
        entries: AUDIT_EVENT,
      },
    },
  },
  deletion: {
    description: 'A 2xx response of DELETE /api/v1/secrets/{client_id}.',
    entries: {
      outcome: entry(
        'deletion',
        'What the response means: {"at": pointers, "map": {"gone": "DELETED", "queued": "ACCEPTED", "none": "NOT_FOUND", "kept": "FAILED"}}. Null: the HTTP status alone decides.',
      ),
    },
  },
} as const satisfies Readonly<Record<string, EntryTable>>;

type TypeOf<Row> = Row extends { readonly kind: infer Kind extends keyof EntryTypes }
  ? EntryTypes[Kind]
  : Row extends { readonly entries: infer Entries }
    ? TypesOf<Entries>
    : never;

/** The entries of a section. */
type TypesOf<Entries> = {
  readonly [Name in keyof Entries as undefined extends TypeOf<Entries[Name]>
    ? never
    : Name]: TypeOf<Entries[Name]>;
} & {
  readonly [Name in keyof Entries as undefined extends TypeOf<Entries[Name]>
    ? Name
    : never]?: TypeOf<Entries[Name]>;
};

/** Specifies where each field is in the responses of the service. */
export type Contract = TypesOf<typeof CONTRACT>;

/** Maps the response of a login. */
export type LoginContract = Contract['login'];

/** Maps the response of a deletion. */
export type DeletionContract = Contract['deletion'];

/** Says whether a response reports a failure. */
export type ErrorsContract = Contract['errors'];

/** Maps the response of the audit trail. */
export type AuditContract = Contract['audit'];

/** Maps a response that contains a list of records. */
export type ListContract = Pick<AuditContract, 'records' | 'total' | 'paging'>;

/** Specifies how to request the next page of a list. */
export type PagingContract = ListContract['paging'];

/** Maps one record of the audit trail. Pointers are relative to the record. */
export type EventContract = AuditContract['event'];

/** Maps the actor or the target of a record. Pointers are relative to the record. */
export type PartyContract = EventContract['actor'];

/** The name of an entry that is read from a record, such as `actor.name`. */
export type EventEntryName =
  | Exclude<keyof EventContract, 'actor' | 'target'>
  | `${'actor' | 'target'}.${Exclude<keyof PartyContract, 'apiKey'>}`;

/** A `ListContract` whose envelope is inferred when first read. */
export type LazyListContract = Omit<ListContract, 'total' | 'paging'> & {
  /** Null: what the response says of its own success is ignored. */
  readonly errors: ErrorsContract | null;
  readonly total: () => Source;
  readonly paging: () => PagingContract;
  readonly evidence: () => PageEvidence;
};

/** An `AuditContract` whose envelope and event are inferred when first read. */
export type LazyAuditContract = LazyListContract &
  Pick<AuditContract, 'parameters' | 'identity'> & { readonly event: () => EventContract };

/** An entry that is configured as a whole or not at all. */
type Entry = Source | number | boolean | undefined | { readonly at: Source };

/** A contract in which every entry is optional. Missing entries are inferred from each response. */
export type DeepPartial<T> = T extends Entry
  ? T
  : { readonly [Name in keyof T]?: DeepPartial<T[Name]> | undefined };

/** A contract as configured, by a file or an option. Missing entries are inferred from each response. */
export type ConfiguredContract = DeepPartial<Contract>;

/** Fills the missing entries of a configured contract from an inferred one. A configured null is kept, and a format. */
export function fillGaps<T>(configured: DeepPartial<T> | undefined, inferred: T): T {
  return merge(configured, inferred) as T; // each missing entry comes from `inferred`, so the result is complete
}

function merge(configured: unknown, inferred: unknown): unknown {
  if (configured === undefined) return inferred;
  if (!isObject(configured) || !isObject(inferred) || 'at' in configured) return configured;
  const keys = Object.keys({ ...inferred, ...configured });
  return Object.fromEntries(keys.map((key) => [key, merge(configured[key], inferred[key])]));
}
