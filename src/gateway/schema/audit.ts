import type { ArgumentRef } from '@pothos/core';
import { GatewayError } from '../../errors.ts';
import { completeAudit } from '../inference/complete-contract.ts';
import { findDrift } from '../inference/contract-drift.ts';
import { type Party, readAuditPage } from '../mapping/event.ts';
import { AUDIT_EVENT, mapFields } from '../mapping/event-fields.ts';
import { cutToMillis, ZERO_TIME } from '../mapping/time.ts';
import { requireFilterFields } from '../pagination/require-fields.ts';
import { pageSizeParameter, resolveConnection } from '../pagination/resolve-connection.ts';
import {
  type EventFilter,
  filterParameters,
  selectMatchingEvents,
} from '../pagination/select-events.ts';
import { path, type QueryParameter, withQuery } from '../upstream/path.ts';
import { type Builder, type BuilderTypes, rawField, UPSTREAM_CODES } from './builder.ts';
import { addConnection, connectionArguments, needsOnlyItems } from './connection.ts';
import type { Context, ContractServices } from './context.ts';
import type { PageLoader, PrefixOptions } from './page-loader.ts';
import { measureBelow } from './selection.ts';

/** Adds `Query.audit` and the types of events. Forwards to GET /api/v1/audit. */
export function addAudit(builder: Builder): void {
  const AuditOutcome = builder.enumType('AuditOutcome', {
    description: 'Whether an action succeeded.',
    values: {
      SUCCESS: { description: 'It succeeded.' },
      FAILURE: { description: 'It was attempted, and was denied or failed.' },
    },
  });

  const partyFields = AUDIT_EVENT.actor.entries;
  const AuditParty = builder.objectRef<Party>('AuditParty').implement({
    description:
      'The actor or the target of an event, as the record described it at the time. A field is null if the record does not have it.',
    fields: (t) =>
      mapFields(partyFields, (name) =>
        t.expose(name, {
          type: partyFields[name].field.type,
          nullable: true,
          description: partyFields[name].field.description,
        }),
      ),
  });

  const types = {
    ID: 'ID',
    String: 'String',
    DateTime: 'DateTime',
    AuditOutcome,
    AuditParty,
  } as const;
  const AuditEvent = builder.objectType('AuditEvent', {
    description:
      'A record of the audit trail. The service does not publish the shape of its records, so Keytrail reads these fields as inferred or as the contract specifies. A field is null if it could not be determined; `raw` always has the whole record.',
    fields: (t) => ({
      ...mapFields(AUDIT_EVENT, (name) =>
        t.expose(name, {
          type: types[AUDIT_EVENT[name].field.type],
          nullable: true,
          description: AUDIT_EVENT[name].field.description,
        }),
      ),
      raw: t.field(
        rawField(
          builder,
          'The record as the service sent it, or a part of it. Null if the part does not exist.',
        ),
      ),
    }),
  });

  addConnection(builder, AuditEvent, {
    noun: 'event',
    description: 'A page of the audit trail (GraphQL Cursor Connections Specification).',
  });

  builder.inputType('AuditFilter', {
    description:
      'Conditions that an event must all meet. A condition that is null does not apply. An event field that is null meets no condition.',
    fields: (t) => ({
      since: t.field({
        type: 'DateTime',
        description:
          'At or after this instant. The year 1, the zero time of Go and .NET, means no bound.',
      }),
      until: t.field({ type: 'DateTime', description: 'Before this instant.' }),
      actions: t.stringList({
        description:
          'One of these actions, at most 100, compared exactly. An empty list matches nothing.',
      }),
      actor: t.string({ description: 'Identifier or name of the actor, compared exactly.' }),
      target: t.string({ description: 'Identifier or name of the target, compared exactly.' }),
      outcome: t.field({ type: AuditOutcome, description: 'Whether the action succeeded.' }),
    }),
  });

  builder.inputType('UpstreamParameter', {
    description: "A query parameter of the service's own.",
    fields: (t) => ({
      name: t.string({ required: true, description: 'Its name. It may occur more than once.' }),
      value: t.string({ required: true, description: 'Its value, not encoded.' }),
    }),
  });

  builder.queryField('audit', (t) =>
    t.field({
      type: 'AuditEventConnection',
      nullable: true,
      description: `The audit trail that the access token may read, in the service's order. Forwards to GET /api/v1/audit. Null if it fails. A failure that may pass, after the first event, ends the page early instead. Codes: ${UPSTREAM_CODES}, and OPERATION_TOO_COMPLEX: request smaller pages.`,
      args: { ...connectionArguments(builder), ...trailArguments(builder) },
      resolve: (_, { first, after, ...args }, context, info) => {
        const { conditions, parameters } = readTrailArguments(args, context);
        const isFiltered = Object.values(conditions).some((condition) => condition != null);
        const trail = listAudit(
          context.calls.authorized,
          context.contract,
          parameters,
          needsOnlyItems(info) ? { isLengthNeeded: true } : undefined,
        );
        const { fields } = measureBelow(info);
        const where = isFiltered ? selectMatchingEvents(conditions) : undefined;
        const admit = (items: number) => context.limits.admitValues(items, fields);
        const require = isFiltered ? requireFilterFields(conditions) : undefined;
        return resolveConnection(trail, { first, after, where, require, admit });
      },
    }),
  );
}

/** The arguments of a field that select events of the trail. */
export function trailArguments(builder: Builder): {
  readonly [Name in keyof TrailArguments]-?: ArgumentRef<BuilderTypes, TrailArguments[Name]>;
} {
  return builder.args((t) => ({
    filter: t.field({
      type: 'AuditFilter',
      description: 'Only events that meet these conditions. Null means all.',
    }),
    parameters: t.field({
      type: ['UpstreamParameter'],
      description:
        'At most 100 query parameters that are forwarded to the service unchanged and in this order, for what this schema does not model.',
    }),
  }));
}

/** Items of a list in the arguments. The bound is far above what people write, and below what costs anything. */
const MAX_ITEMS = 100;

/** The values of {@link trailArguments}. */
export type TrailArguments = {
  readonly filter?: EventFilter | null | undefined;
  readonly parameters?: readonly QueryParameter[] | null | undefined;
};

/**
 * Reads arguments: the conditions, the query parameters that forward some of them, all query parameters of a request, and
 * those that identify what the service lists. One that the client gave replaces those of the same name.
 * @throws GatewayError BAD_USER_INPUT for a list that is too long, or an `until` of the year 1.
 */
export function readTrailArguments(
  args: TrailArguments,
  {
    contract: {
      configured: { audit },
      onFilter,
    },
  }: Pick<Context, 'contract'>,
) {
  const given = args.parameters ?? [];
  const conditions = requireBounds(args.filter ?? {});
  if (given.length > MAX_ITEMS || (conditions.actions ?? []).length > MAX_ITEMS) {
    const message = `\`actions\` and \`parameters\` may have at most ${MAX_ITEMS} items each: send several requests.`;
    throw new GatewayError('BAD_USER_INPUT', { message });
  }
  const isOther = ({ name }: QueryParameter) => given.every((one) => one.name !== name);
  const forwarded = filterParameters(conditions, audit).filter(isOther);
  onFilter?.(conditions, forwarded);
  const size = pageSizeParameter(audit?.paging).filter(isOther);
  /** Times are cut to milliseconds, as in the digests of checkpoints of earlier versions. */
  const listSelected = () => {
    const { since, until } = conditions;
    const cut = { since: since && cutToMillis(since), until: until && cutToMillis(until) };
    const parameters = filterParameters(
      { ...conditions, ...cut },
      { parameters: audit?.parameters },
    );
    return [...given, ...parameters.filter(isOther)];
  };
  const parameters = [...given, ...size, ...forwarded];
  return { conditions, forwarded, parameters, listSelected };
}

/** A `since` of the year 1 is no condition: a program has not set it. */
function requireBounds(filter: EventFilter): EventFilter {
  if (filter.until === ZERO_TIME) {
    const message = '`filter.until` must be of the years 2 to 9999: omit it if it is not set.';
    throw new GatewayError('BAD_USER_INPUT', { message });
  }
  return filter.since === ZERO_TIME ? { ...filter, since: null } : filter;
}

/** Lists the audit trail. With `prefix`, a large response is read only as far as the page needs. */
export function listAudit(
  { list }: Pick<PageLoader, 'list'>,
  { configured, reportDrift }: Pick<ContractServices, 'configured' | 'reportDrift'>,
  parameters: readonly QueryParameter[],
  prefix?: Omit<PrefixOptions, 'recordsPointer'>,
) {
  return list({
    route: 'audit',
    path: withQuery(path`/api/v1/audit`, parameters),
    read: (response, token) => {
      const completed = completeAudit(response, configured);
      const trail = readAuditPage(completed, response, { token, parameters });
      const { total, event } = configured.audit ?? {};
      const names = { total: 'audit.total', record: 'audit.event' };
      reportDrift(findDrift(response, trail, { total, record: event, names }));
      return trail;
    },
    prefix: prefix && { ...prefix, recordsPointer: configured.audit?.records },
  });
}
