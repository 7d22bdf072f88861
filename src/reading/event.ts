import { type EventContract, finder, type Lazily, type PartyContract } from './contract.ts';
import { textOf } from './names.ts';
import { type Outcome, readOutcome } from './outcome.ts';
import { type Instant, readTime } from './time.ts';

/** Somebody or something that a record names. */
export type Party = {
  readonly id: string | null;
  readonly name: string | null;
  readonly type: string | null;
};

/** One record of the trail, of which a field is read when it is asked for; null stands for what could not be told. */
export class AuditEvent {
  /** The record as it came. */
  readonly raw: unknown;
  readonly #read: Readers;

  constructor(raw: unknown, read: Readers) {
    this.raw = raw;
    this.#read = read;
  }

  get id(): string | null {
    return textOf(this.#read.id(this.raw));
  }
  get occurredAt(): Instant | null {
    return readTime(this.#read.time(this.raw), this.#read.format);
  }
  get action(): string | null {
    return textOf(this.#read.action(this.raw));
  }
  get actor(): Party | null {
    return this.#read.actor(this.raw);
  }
  get target(): Party | null {
    return this.#read.target(this.raw);
  }
  get outcome(): Outcome | null {
    return readOutcome(this.#read.outcome(this.raw));
  }
  get ipAddress(): string | null {
    return textOf(this.#read.ipAddress(this.raw));
  }
  get userAgent(): string | null {
    return textOf(this.#read.userAgent(this.raw));
  }
}

type Readers = ReturnType<typeof createReaders>;

/** Makes what reads records where the contract says. A reading is never invented: when in doubt it is null. */
export function createReaders(contract: Lazily<EventContract>) {
  const { occurredAt } = contract;
  const isPlain = occurredAt === null || typeof occurredAt !== 'object' || !('as' in occurredAt);
  return {
    id: finder(contract.id),
    time: finder(isPlain ? occurredAt : occurredAt.at),
    format: isPlain ? undefined : occurredAt.as,
    action: finder(contract.action),
    outcome: finder(contract.outcome),
    ipAddress: finder(contract.ipAddress),
    userAgent: finder(contract.userAgent),
    actor: createPartyReader(contract.actor),
    target: createPartyReader(contract.target),
  };
}

function createPartyReader(contract: Lazily<PartyContract>): (record: unknown) => Party | null {
  const id = finder(contract.id);
  const name = finder(contract.name);
  const type = finder(contract.type);
  return (record) => {
    const who = { id: textOf(id(record)), name: textOf(name(record)), type: textOf(type(record)) };
    return who.id === null && who.name === null && who.type === null ? null : who;
  };
}
