import { builder, PageInfo, rawArguments, readRaw, windowArguments } from '../builder.ts';
import type { AuditEvent, Party } from '../reading/event.ts';
import { path, withQuery } from '../rest/path.ts';
import { isOnlyFieldWithout } from '../selection.ts';
import { type Edge, encodeCursor } from '../window/cursor.ts';
import { selectMatching } from '../window/filter.ts';
import { readPage } from '../window/page.ts';
import { pageSize, toParameters } from '../window/parameters.ts';

builder.queryField('audit', (t) =>
  t.field({
    type: 'AuditConnection',
    nullable: true,
    description:
      "The audit trail that the caller's token may read, in the order in which the service gives it. Forwards to GET /api/v1/audit. Null when it could not be read: `errors` says why.",
    args: {
      ...windowArguments,
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
        ...pageSize(contract.audit),
        ...toParameters(conditions, contract.audit?.parameters),
      ];
      const added = own.filter(({ name }) => given.every((parameter) => parameter.name !== name));
      const isFiltered = Object.values(conditions).some((condition) => condition != null);
      const trail = authorized.getTrail(withQuery(path`/api/v1/audit`, [...given, ...added]), () =>
        isOnlyFieldWithout(['totalCount', 'raw'], info),
      );
      return readPage(trail, {
        first,
        after,
        where: isFiltered ? selectMatching(conditions) : undefined,
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

const AuditEdge = builder.objectRef<Edge>('AuditEdge').implement({
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

builder.objectType('AuditConnection', {
  description: 'A window on the audit trail (GraphQL Cursor Connections Specification).',
  fields: (t) => ({
    edges: t.field({
      type: [AuditEdge],
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
    id: t.exposeID('id', { nullable: true, description: 'Its id. Null when the record has none.' }),
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
