/** A field of `AuditEvent` or `AuditParty`. Each may be null. */
export type Field<Type = 'ID' | 'String' | 'DateTime' | 'AuditOutcome' | 'AuditParty' | 'ApiKey'> =
  { readonly type: Type; readonly description: string };

/** Its description is no literal type, which the published types would contain. */
const field = <Type extends Field['type']>(type: Type, description: string) => ({
  type,
  description,
});

/** A field that is read from a record. Kind and description are those of its entry in a contract, see `EntryTable`. */
type ReadField = {
  readonly field: Field<'ID' | 'String' | 'DateTime' | 'AuditOutcome'>;
  readonly kind: 'pointers' | 'text' | 'mappedText' | 'time' | 'outcome';
  readonly description: string;
  /** Whether a recording keeps its values, or replaces them because they may be personal. */
  readonly privacy: 'kept' | 'replaced';
};

/** A field that follows from others of its party. */
type DerivedField = Pick<ReadField, 'description'> & {
  readonly field: Field<'ApiKey'>;
  readonly kind: 'apiKey';
};

/** A field that has fields, and a section of a contract. */
type PartySection = Pick<ReadField, 'description'> & {
  readonly field: Field<'AuditParty'>;
  readonly entries: Readonly<Record<string, ReadField | DerivedField>>;
};

/** Why a field is null if inference finds no field of the records for it: completes "… is null". */
type NullReason = { readonly nullReason: string };

/** The fields of `AuditParty`: the actor or the target of an event. */
const partyFields = (role: 'actor' | 'target') =>
  ({
    identifier: {
      field: field(
        'ID',
        'Its identifier in the service. It is not called `id` because a party is no entity: caches must not merge parties of several events, and a user and a key may share an identifier.',
      ),
      kind: 'text',
      description: `Where the identifier of the ${role} is: pointers, or {"at": pointers, "split": ":", "part": 2} for one of two facts in a text.`,
      privacy: 'replaced',
    },
    name: {
      field: field('String', 'Its name, or its e-mail address if the record has no name.'),
      kind: 'text',
      description: `Where the name of the ${role} is, or its e-mail address.`,
      privacy: 'replaced',
    },
    type: {
      field: field(
        'String',
        'What kind of thing it is, in the terms of the service, such as `user`.',
      ),
      kind: 'mappedText',
      description: `Where the type of the ${role} is: pointers, or {"at": pointers, "map": {"value": "text"}}.`,
      privacy: 'kept',
    },
    apiKey: {
      field: field(
        'ApiKey',
        'The API key that it is, with its identifier as client ID. Null unless its type is `api_key` in any spelling, or the contract says that it is a key. Below it, `audit` must not be selected: OPERATION_TOO_COMPLEX.',
      ),
      kind: 'apiKey',
      description: `Whether the ${role} is an API key, with its client ID as identifier: true, or the types that are. Default: the types that say so, such as api_key.`,
    },
  }) as const satisfies PartySection['entries'];

/** The fields of `AuditEvent`, but for `raw`. What maps, shows or records them follows this table; event.ts reads them, and inference finds some. */
export const AUDIT_EVENT = {
  id: {
    field: field(
      'ID',
      "The service's own id of the record. It may be null, and several events may share one (records of one operation), so normalizing caches must not use it as a key: in Apollo Client, set `keyFields: false` for AuditEvent.",
    ),
    kind: 'pointers',
    description: "Where the service's ID of the record is.",
    privacy: 'replaced',
    nullReason: 'no field has the name of a record ID',
  },
  occurredAt: {
    field: field(
      'DateTime',
      'When it happened. Null also if the time is ambiguous, such as one without zone.',
    ),
    kind: 'time',
    description:
      'Where the time of the event is: pointers, or {"at": pointers, "as": format, "zone": zone of times without one}.',
    privacy: 'kept',
    nullReason: 'no field with the name of an event time holds a time with a zone',
  },
  action: {
    field: field('String', 'What was done, in the terms of the service, such as `key.delete`.'),
    kind: 'mappedText',
    description:
      'Where the action is: pointers, or {"at": pointers, "map": {"value": "text"}, "else": "keep"}, or with "split" and "part".',
    privacy: 'kept',
    nullReason: 'no field has the name of an action',
  },
  outcome: {
    field: field(
      'AuditOutcome',
      'Whether the action succeeded. Null if the record has no outcome, or one that Keytrail does not recognise.',
    ),
    kind: 'outcome',
    description:
      'Where the outcome is: pointers of a success flag or of words such as ok and denied, or {"at": pointers, "map": {"value": "SUCCESS" or "FAILURE"}}.',
    privacy: 'kept',
    nullReason:
      'no field with the name of an outcome holds a success flag, or a word for success or failure',
  },
  actor: {
    field: field('AuditParty', 'Who did it.'),
    entries: partyFields('actor'),
    description: 'Who did it.',
    nullReason: 'no field has the name of an actor',
  },
  target: {
    field: field('AuditParty', 'What it was done to; the first target if there are several.'),
    entries: partyFields('target'),
    description: 'What it was done to.',
    nullReason: 'no field has the name of a target',
  },
  ipAddress: {
    field: field('String', 'The IP address of the actor.'),
    kind: 'pointers',
    description: 'Where the IP address of the actor is.',
    privacy: 'replaced',
    nullReason: 'no field holds the IP address of an actor',
  },
  userAgent: {
    field: field('String', 'The user agent of the actor.'),
    kind: 'pointers',
    description: 'Where the user agent of the actor is.',
    privacy: 'replaced',
    nullReason: 'no field has the name or the format of a user agent',
  },
} as const satisfies Readonly<Record<string, (ReadField | PartySection) & NullReason>>;

/** Maps the fields of a table, in its order. */
export function mapFields<Table extends object, Value>(
  table: Table,
  toValue: (name: keyof Table & string) => Value,
): { readonly [Name in keyof Table]: Value } {
  const names = Object.keys(table) as (keyof Table & string)[]; // a table is a constant without other keys
  const values = names.map((name) => [name, toValue(name)] as const);
  return Object.fromEntries(values) as { readonly [Name in keyof Table]: Value }; // the same keys
}
