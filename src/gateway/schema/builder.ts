import SchemaBuilder from '@pothos/core';
import type { AuditEvent } from '../mapping/event.ts';
import { cutToMillis, type Instant, parseIso, parseZeroTime } from '../mapping/time.ts';
import type { Connection } from '../pagination/resolve-connection.ts';
import type { EventFilter } from '../pagination/select-events.ts';
import type { QueryParameter } from '../upstream/path.ts';
import type { Context } from './context.ts';

/** The object types that more than one file names. Each is described in the file of its operation. */
type SharedObjects = {
  readonly ApiKey: { readonly clientId: string };
  readonly AuditEvent: AuditEvent;
  readonly AuditEventConnection: Connection<AuditEvent>;
  readonly PageInfo: Connection;
};

/** What each file of this folder adds its types and fields to, see `createSchema`. */
export type Builder = ReturnType<typeof createBuilder>;

/** The types that the builder knows, for references to its objects. */
export type BuilderTypes = Builder['$inferSchemaTypes'];

/** Creates a Pothos builder with the root types and the scalars. */
export function createBuilder() {
  const builder = new SchemaBuilder<{
    Context: Context;
    DefaultFieldNullability: false;
    Inputs: { AuditFilter: EventFilter; UpstreamParameter: Pick<QueryParameter, 'name' | 'value'> };
    Objects: SharedObjects;
    Scalars: {
      ID: { Input: string; Output: string };
      JSON: { Input: never; Output: unknown };
      DateTime: { Input: Instant; Output: Instant };
      _Any: { Input: unknown; Output: never };
    };
  }>({ defaultFieldNullability: false });

  builder.queryType({
    description: 'Reads. A field that fails is null, with the reason in `errors`.',
  });
  builder.mutationType({
    description:
      'Changes. A mutation may contain one field apart from `__typename`. A field that fails is null, with the reason in `errors`; OUTCOME_UNKNOWN means that it may have been carried out.',
  });

  builder.scalarType('JSON', {
    description:
      'Any JSON value of the service. An integer beyond 2^53 is a string, so that no digit is lost. Any other number has the precision of a double (IEEE 754).',
    serialize: (value) => value,
    parseValue: () => {
      throw new TypeError('JSON is for output only');
    },
  });

  builder.scalarType('DateTime', {
    description:
      'An instant (RFC 3339) of the years 2 to 9999. Output is in UTC with milliseconds, such as `2026-11-21T09:30:00.000Z`, and further digits are cut. Input may have any offset and any number of digits.',
    specifiedByURL: 'https://scalars.graphql.org/andimarek/date-time.html',
    serialize: cutToMillis,
    parseValue: (value) => {
      const instant = typeof value === 'string' ? (parseIso(value) ?? parseZeroTime(value)) : null;
      // Clients see this message: it must not repeat the value.
      if (instant === null)
        throw new TypeError('RFC 3339 with an offset, such as 2026-11-21T09:30:00Z');
      return instant;
    },
  });

  return builder;
}

/** The error codes of every call to the service, for descriptions. */
export const UPSTREAM_CODES =
  'BAD_USER_INPUT, UNAUTHENTICATED, FORBIDDEN, NOT_FOUND, CONFLICT, RATE_LIMITED, OVERLOADED, UPSTREAM_TIMEOUT, UPSTREAM_UNAVAILABLE, UPSTREAM_ERROR, UPSTREAM_BAD_RESPONSE';

/** Fields of the payload of a mutation, at most: 50 aliases of `raw`, and the others. */
export const FIELDS_OF_PAYLOAD = 60;

/** The options of a field `raw`, which returns what the service sent or the part at a pointer. */
export function rawField(builder: Builder, description: string) {
  return {
    type: 'JSON',
    nullable: true,
    description,
    args: builder.args((t) => ({
      pointer: t.string({
        defaultValue: '',
        description:
          'A JSON Pointer (RFC 6901) to a part, such as `/data/0/id`, of at most 64 tokens. Empty or null means the whole.',
      }),
    })),
    resolve: (
      { raw }: { readonly raw: unknown },
      args: { readonly pointer?: string | null | undefined },
      { contract }: Context,
    ) => (args.pointer ? (contract.readPointer(args.pointer)(raw) ?? null) : (raw ?? null)),
  } as const;
}
