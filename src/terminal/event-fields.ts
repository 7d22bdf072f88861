import type { AuditQuery } from '../client/operations.generated.ts';
import { AUDIT_EVENT } from '../gateway/mapping/event-fields.ts';

/** An event as a gateway returns it. `raw` only if it was requested. */
export type AuditEvent = NonNullable<AuditQuery['audit']>['nodes'][number];

/** An event with its key, see `createEventKeys`. */
export type KeyedEvent = AuditEvent & { readonly key: string };

/**
 * The names for `--fields`: those of the graph, with a dot below a party. `actor` and `target` are the identifier of the
 * party or else its name, `time` is `occurredAt`.
 */
export const EVENT_FIELD_NAMES: readonly string[] = [
  ...['key', 'time'],
  ...Object.entries(AUDIT_EVENT).flatMap(([name, row]) =>
    'entries' in row
      ? [
          name,
          ...Object.entries(row.entries)
            .filter(([, { kind }]) => kind !== 'apiKey') // not selected
            .map(([part]) => `${name}.${part}`),
        ]
      : name === 'occurredAt'
        ? []
        : [name],
  ),
  'raw',
];

/** The value of a field of {@link EVENT_FIELD_NAMES}; null if it is not known. */
export function readField(event: KeyedEvent, name: string): unknown {
  if (name === 'time') return event.occurredAt;
  if (name === 'actor' || name === 'target')
    return event[name]?.identifier ?? event[name]?.name ?? null;
  const [member = '', part] = name.split('.');
  const value = Object(event)[member] ?? null;
  return part === undefined ? value : (Object(value)[part] ?? null);
}
