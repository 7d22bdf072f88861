import { collectFields, collectSubFields } from '@graphql-tools/utils';
import { type GraphQLResolveInfo, getNamedType, isObjectType } from 'graphql';
import type { AuditEvent, Party } from '../mapping/event.ts';
import { resolveConnection } from '../pagination/connection.ts';
import { type Edge, encodeCursor } from '../pagination/cursor.ts';
import { filterParameters, pageSizeParameter, selectMatchingEvents } from '../pagination/filter.ts';
import { path, withQuery } from '../upstream/path.ts';
import { builder, connectionArguments, PageInfo, rawArguments, readRaw } from './builder.ts';

builder.queryField('audit', (t) =>
  t.field({
    type: 'AuditEventConnection',
    nullable: true,
    description:
      "The audit trail that the caller's token may read, in the order in which the service gives it. Forwards to GET /api/v1/audit. Null when it could not be read: `errors` says why.",
    args: {
      ...connectionArguments,
      filter: t.arg({
        type: AuditFilter,
        description: 'Only events that match every condition given. Null lets all through.',
      }),
      parameters: t.arg({
        type: [UpstreamParameter],
        description:
          'Query parameters forwarded to the service untouched, in this order, for what this schema does not model.',
      }),
    },
    resolve: (_, { first, after, filter, parameters }, { authorized, contract }, info) => {
      const given = parameters ?? [];
      const conditions = filter ?? {};
      const own = [
        ...pageSizeParameter(contract.audit),
        ...filterParameters(conditions, contract.audit?.parameters),
      ];
      const added = own.filter(({ name }) => given.every((parameter) => parameter.name !== name));
      const isFiltered = Object.values(conditions).some((condition) => condition != null);
      const trail = authorized.getTrail(withQuery(path`/api/v1/audit`, [...given, ...added]), () =>
        isOnlyFieldWithout(['totalCount', 'raw'], info),
      );
      return resolveConnection(trail, {
        first,
        after,
        where: isFiltered ? selectMatchingEvents(conditions) : undefined,
      });
    },
  }),
);

const AuditFilter = builder.inputType('AuditFilter', {
  description:
    'Conditions on an event, all of which it must meet; one that is null is not asked. What could not be read of an event meets no condition.',
  fields: (t) => ({
    since: t.field({ type: 'DateTime', description: 'At or after this instant.' }),
    until: t.field({ type: 'DateTime', description: 'Before this instant.' }),
    actions: t.stringList({
      description: 'Any of these actions, letter for letter; the empty list matches nothing.',
    }),
    actor: t.string({ description: 'Id or name of the actor, letter for letter.' }),
    target: t.string({ description: 'Id or name of the target, letter for letter.' }),
    outcome: t.field({ type: AuditOutcome, description: 'How the action ended.' }),
  }),
});

const UpstreamParameter = builder.inputType('UpstreamParameter', {
  description: 'A query parameter of the service itself.',
  fields: (t) => ({
    name: t.string({ required: true, description: 'Its name, which may occur more than once.' }),
    value: t.string({ required: true, description: 'Its value, not encoded.' }),
  }),
});

const AuditEventEdge = builder.objectRef<Edge>('AuditEventEdge').implement({
  description: 'An event and where it stands.',
  fields: (t) => ({
    cursor: t.string({
      description:
        'Where the event stands: hand it to `after` to continue behind it. It keeps its meaning while the trail grows.',
      resolve: encodeCursor,
    }),
    node: t.field({ type: 'AuditEvent', description: 'The event.', resolve: toEvent }),
  }),
});

function toEvent({ trail, index }: Edge): AuditEvent {
  return trail.event(index);
}

builder.objectType('AuditEventConnection', {
  description: 'A window on the audit trail (GraphQL Cursor Connections Specification).',
  fields: (t) => ({
    edges: t.field({
      type: [AuditEventEdge],
      description: 'The events of this page with their cursors.',
      resolve: ({ edges }) => edges,
    }),
    nodes: t.field({
      type: ['AuditEvent'],
      description: 'The events of `edges`, for those who need no cursors.',
      resolve: ({ edges }) => edges.map(toEvent),
    }),
    pageInfo: t.field({
      type: PageInfo,
      description: 'Whether there is more, and how to get it.',
      resolve: (page) => page,
    }),
    totalCount: t.int({
      nullable: true,
      description:
        'How many events there are on all pages, where the service or a whole answer tells; else null.',
      resolve: (page) => page.totalCount(),
    }),
    raw: t.field({
      type: 'JSON',
      nullable: true,
      args: rawArguments,
      description:
        "The service's answer from which the first event of this page came, or the part at a pointer. Null when nothing is there.",
      resolve: readRaw,
    }),
  }),
});

builder.objectType('AuditEvent', {
  description:
    'One entry of the audit trail. The service does not publish the shape of its records: the fields below are read from it where they can be told, and are null where they cannot. `raw` loses nothing.',
  fields: (t) => ({
    id: t.exposeID('id', {
      nullable: true,
      description: "The service's own id of the record. Null when it has none.",
    }),
    occurredAt: t.expose('occurredAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When it happened. Null when the record has no time, or one that could mean several instants.',
    }),
    action: t.exposeString('action', {
      nullable: true,
      description: "What was done, in the service's words. Null when the record does not say.",
    }),
    actor: t.field({
      type: AuditParty,
      nullable: true,
      description: 'Who did it. Null when the record names nobody.',
      resolve: ({ actor }) => actor,
    }),
    target: t.field({
      type: AuditParty,
      nullable: true,
      description:
        'What it was done to; the first one where there are several. Null when the record names nothing.',
      resolve: ({ target }) => target,
    }),
    outcome: t.expose('outcome', {
      type: AuditOutcome,
      nullable: true,
      description: 'How it ended. Null when the record does not say, or in other words than these.',
    }),
    ipAddress: t.exposeString('ipAddress', {
      nullable: true,
      description: 'From which address it was done. Null when the record does not say.',
    }),
    userAgent: t.exposeString('userAgent', {
      nullable: true,
      description: 'With which program it was done. Null when the record does not say.',
    }),
    raw: t.field({
      type: 'JSON',
      nullable: true,
      args: rawArguments,
      description:
        'The record as the service sent it, or the part at a pointer. Null when nothing is there.',
      resolve: readRaw,
    }),
  }),
});

const AuditParty = builder.objectRef<Party>('AuditParty').implement({
  description: 'Somebody or something that an audit event names.',
  fields: (t) => ({
    identifier: t.exposeID('identifier', {
      nullable: true,
      description:
        'The identifier that the record gives it. Not an entity key: two parties of one type may share it.',
    }),
    name: t.exposeString('name', {
      nullable: true,
      description:
        'A name or an e-mail address, whichever the record has. Null when it has neither.',
    }),
    type: t.exposeString('type', {
      nullable: true,
      description:
        "What kind of thing it is, in the service's words. Null when the record is silent.",
    }),
  }),
});

const AuditOutcome = builder.enumType('AuditOutcome', {
  description: 'How an action ended.',
  values: {
    SUCCESS: { description: 'It was done.' },
    FAILURE: { description: 'It was tried, and refused or failed.' },
  },
});

// It exists for speed: what a document does not select need not be read.

/** Whether a field is the only one at the root of its operation, `__typename` apart, and selects none of these names. */
export function isOnlyFieldWithout(names: readonly string[], info: GraphQLResolveInfo): boolean {
  const { schema, fragments, operation, parentType, fieldNodes, variableValues } = info;
  const values = { coerced: variableValues, sources: {} };
  const { fields } = collectFields(schema, fragments, values, parentType, operation.selectionSet);
  const type = getNamedType(info.returnType);
  if (!isObjectType(type)) return false;
  const own = collectSubFields(schema, fragments, values, type, [...fieldNodes]).fields;
  const others = [...fields.values()].flat().filter((node) => !fieldNodes.includes(node));
  const isWithout = [...own.values()].flat().every(({ name }) => !names.includes(name.value));
  return isWithout && others.every(({ name }) => name.value === '__typename');
}
