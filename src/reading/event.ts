import { type EventContract, find, type PartyContract } from './contract.ts';
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

/** Reads one record where the contract says. A reading is never invented: when in doubt it is null. */
export function readEvent(contract: EventContract, record: unknown): AuditEvent {
  const { occurredAt } = contract;
  const isPlain = occurredAt === null || typeof occurredAt === 'string' || !('as' in occurredAt);
  const time = isPlain ? { at: occurredAt, as: undefined } : occurredAt;
  return {
    id: textOf(find(contract.id, record)),
    occurredAt: readTime(find(time.at, record), time.as),
    action: textOf(find(contract.action, record)),
    actor: readParty(contract.actor, record),
    target: readParty(contract.target, record),
    outcome: readOutcome(find(contract.outcome, record)),
    ipAddress: textOf(find(contract.ipAddress, record)),
    userAgent: textOf(find(contract.userAgent, record)),
    raw: record,
  };
}

function readParty(contract: PartyContract, record: unknown): Party | null {
  const party = {
    id: textOf(find(contract.id, record)),
    name: textOf(find(contract.name, record)),
    type: textOf(find(contract.type, record)),
  };
  return party.id === null && party.name === null && party.type === null ? null : party;
}
