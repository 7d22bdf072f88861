import SchemaBuilder from '@pothos/core';
import type { AuditEvent } from '../mapping/event.ts';
import { resolvePointer } from '../mapping/json-pointer.ts';
import { type Instant, parseIso } from '../mapping/time.ts';
import type { Connection } from '../pagination/connection.ts';
import type { Context } from './context.ts';

/** The types that more than one operation's file names; each file still says all about its own. */
type SharedObjects = {
  readonly ApiKey: { readonly clientId: string };
  readonly AuditEventConnection: Connection;
  readonly AuditEvent: AuditEvent;
};

/** The one Pothos builder. Whoever imports it adds to the schema. */
export const builder = new SchemaBuilder<{
  Context: Context;
  DefaultFieldNullability: false;
  Objects: SharedObjects;
  Scalars: {
    ID: { Input: string; Output: string };
    JSON: { Input: never; Output: unknown };
    DateTime: { Input: Instant; Output: Instant };
    _Any: { Input: unknown; Output: never };
  };
}>({
  defaultFieldNullability: false,
});

builder.queryType({ description: 'What can be read from the service.' });
builder.mutationType({ description: 'What can be changed in the service.' });

builder.scalarType('JSON', {
  description:
    'Any JSON value, exactly as the service sent it; integers beyond 2^53 arrive as strings, so that no digit is lost.',
  serialize: (value) => value,
  parseValue: () => {
    throw new TypeError('JSON is for output only');
  },
});

builder.scalarType('DateTime', {
  description:
    'An instant, RFC 3339, always in UTC with milliseconds: 2026-11-21T09:30:00.000Z. As an input any offset is taken.',
  serialize: (instant) => instant,
  parseValue: (value) => {
    const instant = typeof value === 'string' ? parseIso(value) : null;
    // The caller is told this: it must not repeat the value.
    if (instant === null)
      throw new TypeError('RFC 3339 with an offset, such as 2026-11-21T09:30:00Z');
    return instant;
  },
});

/** The arguments of every field `raw`: the untouched answer, or a part of it. */
export const rawArguments = builder.args((t) => ({
  pointer: t.string({
    defaultValue: '',
    description:
      'An RFC 6901 pointer such as `/data/0/id`; the empty one, and null, mean the whole.',
  }),
}));

/** Resolves a field `raw`. Throws BAD_USER_INPUT for what is no pointer. */
export function readRaw(
  { raw }: { readonly raw: unknown },
  args: { readonly pointer?: string | null | undefined },
): unknown {
  return resolvePointer(raw, args.pointer ?? '') ?? null;
}

/** The arguments of every connection. */
export const connectionArguments = builder.args((t) => ({
  first: t.int({ defaultValue: 50, description: 'How many events at most, 1 to 1000.' }),
  after: t.string({
    description:
      'Continue behind this cursor, taken from an earlier page. Null starts at the beginning.',
  }),
}));

/** Where a page stands among the others. Every Relay subgraph of a federated graph may define it: it is shareable. */
export const PageInfo = builder.objectRef<Connection>('PageInfo').implement({
  description:
    'Whether there is more, and how to get it (GraphQL Cursor Connections Specification).',
  extensions: { directives: { shareable: {} } },
  fields: (t) => ({
    hasNextPage: t.boolean({
      description:
        'Whether there are events behind this page: ask for them with `after: endCursor`.',
      resolve: (page) => page.hasNextPage(),
    }),
    hasPreviousPage: t.exposeBoolean('hasPreviousPage', {
      description: 'Whether there are events in front of this page.',
    }),
    startCursor: t.string({
      nullable: true,
      description: 'The cursor of the first event. Null when the page is empty.',
      resolve: (page) => page.startCursor(),
    }),
    endCursor: t.string({
      nullable: true,
      description:
        'Where to continue: behind the last event, or where a search for more events stopped, even if it found none. Null when there is nothing.',
      resolve: (page) => page.endCursor(),
    }),
  }),
});
