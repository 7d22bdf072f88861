import { compilePointers, type EventContract, type Lazy, type PartyContract } from './contract.ts';
import { type EventOutcome, parseOutcome } from './outcome.ts';
import { type Instant, parseTime } from './time.ts';
import { toText } from './tokenize-key.ts';

/** Somebody or something that a record names. */
export type Party = {
  readonly identifier: string | null;
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
    return toText(this.#read.id(this.raw));
  }
  get occurredAt(): Instant | null {
    return parseTime(this.#read.time(this.raw), this.#read.format);
  }
  get action(): string | null {
    return toText(this.#read.action(this.raw));
  }
  get actor(): Party | null {
    return this.#read.actor(this.raw);
  }
  get target(): Party | null {
    return this.#read.target(this.raw);
  }
  get outcome(): EventOutcome | null {
    return parseOutcome(this.#read.outcome(this.raw));
  }
  get ipAddress(): string | null {
    return toText(this.#read.ipAddress(this.raw));
  }
  get userAgent(): string | null {
    return toText(this.#read.userAgent(this.raw));
  }
}

type Readers = ReturnType<typeof compileEventReaders>;

/** Makes what reads records where the contract says. A reading is never invented: when in doubt it is null. */
export function compileEventReaders(contract: Lazy<EventContract>) {
  const { occurredAt } = contract;
  const isPlain = occurredAt === null || typeof occurredAt !== 'object' || !('as' in occurredAt);
  return {
    id: compilePointers(contract.id),
    time: compilePointers(isPlain ? occurredAt : occurredAt.at),
    format: isPlain ? undefined : occurredAt.as,
    action: compilePointers(contract.action),
    outcome: compilePointers(contract.outcome),
    ipAddress: compilePointers(contract.ipAddress),
    userAgent: compilePointers(contract.userAgent),
    actor: createPartyReader(contract.actor),
    target: createPartyReader(contract.target),
  };
}

function createPartyReader(contract: Lazy<PartyContract>): (record: unknown) => Party | null {
  const identifier = compilePointers(contract.identifier);
  const name = compilePointers(contract.name);
  const type = compilePointers(contract.type);
  return (record) => {
    const party = {
      identifier: toText(identifier(record)),
      name: toText(name(record)),
      type: toText(type(record)),
    };
    return Object.values(party).every((text) => text === null) ? null : party;
  };
}
