import { type NamesOf, rejectUnknownNames } from './known-names.ts';

/** An event for the sandbox's audit trail, with the names of the GraphQL schema. */
export type SandboxEvent = {
  readonly action: string;
  /** A Date or an ISO 8601 date-time with a zone. @default the current time */
  readonly occurredAt?: Date | string | undefined;
  /** @default 'SUCCESS' */
  readonly outcome?: 'SUCCESS' | 'FAILURE' | undefined;
  /** The client ID of the actor. @default null */
  readonly actor?: string | null | undefined;
  /** The client ID of the target. @default null */
  readonly target?: string | null | undefined;
  /** @default null */
  readonly ipAddress?: string | null | undefined;
  /** @default null */
  readonly userAgent?: string | null | undefined;
};

/** An event with all its values. */
export type CompleteEvent = {
  readonly [Name in keyof SandboxEvent]-?: Exclude<SandboxEvent[Name], undefined>;
} & { readonly occurredAt: Date };

/** The names of the members of an event. */
const EVENT: NamesOf<SandboxEvent> = {
  action: true,
  occurredAt: true,
  outcome: true,
  actor: true,
  target: true,
  ipAddress: true,
  userAgent: true,
};

const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

/**
 * Completes an event with the defaults.
 * @throws TypeError that says what is wrong with it.
 */
export function completeEvent(event: SandboxEvent, now: Date): CompleteEvent {
  rejectUnknownNames(event, EVENT, 'a member of an event');
  const {
    action,
    occurredAt = now,
    outcome = 'SUCCESS',
    actor = null,
    target = null,
    ipAddress = null,
    userAgent = null,
  } = event;
  if (typeof action !== 'string') throw new TypeError('An event needs an action, a string.');
  for (const [name, value] of Object.entries({ actor, target, ipAddress, userAgent })) {
    if (value !== null && typeof value !== 'string')
      throw new TypeError(`The ${name} of an event must be a string or null.`);
  }
  if (outcome !== 'SUCCESS' && outcome !== 'FAILURE')
    throw new TypeError('The outcome of an event must be SUCCESS or FAILURE.');
  const isDateTime = typeof occurredAt === 'string' ? ISO_8601.test(occurredAt) : true;
  const time = new Date(occurredAt);
  if (!isDateTime || Number.isNaN(time.getTime())) {
    throw new TypeError(
      'The occurredAt of an event must be a Date or a date-time such as 2026-11-21T08:00:00Z.',
    );
  }
  return { action, occurredAt: time, outcome, actor, target, ipAddress, userAgent };
}
