import { type EventContract, finder, type PartyContract } from './contract.ts';
import { textOf } from './names.ts';
import { type Outcome, readOutcome } from './outcome.ts';
import { readTime } from './time.ts';

/** Somebody or something that a record names. */
export type Party = {
  readonly id: string | null;
  readonly name: string | null;
  readonly type: string | null;
};

/** One record of the trail; null stands for what could not be told. */
export type AuditEvent = {
  readonly id: string | null;
  readonly occurredAt: Date | null;
  readonly action: string | null;
  readonly actor: Party | null;
  readonly target: Party | null;
  readonly outcome: Outcome | null;
  readonly ipAddress: string | null;
  readonly userAgent: string | null;
  /** The record as it came. */
  readonly raw: unknown;
};

/** Makes what reads records where the contract says. A reading is never invented: when in doubt it is null. */
export function createEventReader(contract: EventContract): (record: unknown) => AuditEvent {
  const { occurredAt } = contract;
  const isPlain = occurredAt === null || typeof occurredAt === 'string' || !('as' in occurredAt);
  const time = isPlain ? { at: occurredAt, as: undefined } : occurredAt;
  const find = {
    id: finder(contract.id),
    time: finder(time.at),
    action: finder(contract.action),
    outcome: finder(contract.outcome),
    ipAddress: finder(contract.ipAddress),
    userAgent: finder(contract.userAgent),
  };
  const readActor = createPartyReader(contract.actor);
  const readTarget = createPartyReader(contract.target);
  return (record) => ({
    id: textOf(find.id(record)),
    occurredAt: readTime(find.time(record), time.as),
    action: textOf(find.action(record)),
    actor: readActor(record),
    target: readTarget(record),
    outcome: readOutcome(find.outcome(record)),
    ipAddress: textOf(find.ipAddress(record)),
    userAgent: textOf(find.userAgent(record)),
    raw: record,
  });
}

function createPartyReader(contract: PartyContract): (record: unknown) => Party | null {
  const id = finder(contract.id);
  const name = finder(contract.name);
  const type = finder(contract.type);
  return (record) => {
    const who = { id: textOf(id(record)), name: textOf(name(record)), type: textOf(type(record)) };
    return who.id === null && who.name === null && who.type === null ? null : who;
  };
}
