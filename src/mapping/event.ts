import type { EventContract, Lazy, PartyContract } from './contract.ts';
import { type EventOutcome, parseHttpStatus, parseOutcome } from './outcome.ts';
import { compilePointers } from './read-source.ts';
import { type Instant, parseTime } from './time.ts';
import { isObject, toText } from './values.ts';

/** The actor or the target of an event. */
export type Party = Readonly<Record<keyof PartyContract, string | null>>;

/** One record of the audit trail. Each field is read when it is used; null means that it could not be determined. */
export class AuditEvent {
  /** The record as the service sent it. */
  readonly raw: unknown;
  readonly #read: EventReaders;

  constructor(raw: unknown, read: EventReaders) {
    this.raw = raw;
    this.#read = read;
  }

  /**
   * Whether a field can be read: it was found in the records, or is configured. A time must also have a known format, unless
   * there is none.
   */
  isReadable(field: FilterField): boolean {
    if (!this.#read.isLocated(field)) return false;
    return field !== 'occurredAt' || this.occurredAt !== null || this.#read.time(this.raw) == null;
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
    const value = this.#read.outcome(this.raw);
    return parseOutcome(value) ?? parseHttpStatus(value);
  }
  get ipAddress(): string | null {
    return toText(firstOfList(this.#read.ipAddress(this.raw)));
  }
  get userAgent(): string | null {
    return toText(this.#read.userAgent(this.raw));
  }
}

/** Fields that a filter may need. */
export type FilterField = 'occurredAt' | 'action' | 'actor' | 'target' | 'outcome';
/** The first item of a list such as that of `X-Forwarded-For`, in which the client's address comes first. */
export function firstOfList(value: unknown): unknown {
  return typeof value === 'string' ? value.split(',', 1).join().trim() : value;
}

type EventReaders = ReturnType<typeof compileEventReaders>;

/** Compiles the contract of an event into one function per field, for use with every record of a page. */
export function compileEventReaders(contract: Lazy<EventContract>) {
  const { occurredAt } = contract;
  const hasFormat = occurredAt !== null && typeof occurredAt === 'object' && 'as' in occurredAt;
  return {
    id: compilePointers(contract.id),
    time: compilePointers(hasFormat ? occurredAt.at : occurredAt),
    format: hasFormat ? occurredAt.as : undefined,
    action: compilePointers(contract.action),
    outcome: compilePointers(contract.outcome),
    ipAddress: compilePointers(contract.ipAddress),
    userAgent: compilePointers(contract.userAgent),
    actor: compilePartyReader(contract.actor),
    target: compilePartyReader(contract.target),
    isLocated: (field: FilterField) => isLocated(contract[field]),
  };
}

function compilePartyReader(contract: Lazy<PartyContract>): (record: unknown) => Party | null {
  const readIdentifier = compilePointers(contract.identifier);
  const readName = compilePointers(contract.name);
  const readType = compilePointers(contract.type);
  return (record) => {
    const identifier = toText(readIdentifier(record));
    const name = toText(readName(record));
    const type = toText(readType(record));
    const isEmpty = identifier === null && name === null && type === null;
    return isEmpty ? null : { identifier, name, type };
  };
}

/** Whether an entry has a pointer; of a party, its identifier or its name. */
function isLocated(entry: unknown): boolean {
  if (typeof entry === 'function') return isLocated(entry());
  if (!isObject(entry)) return entry != null;
  return isLocated(entry['at']) || isLocated(entry['identifier']) || isLocated(entry['name']);
}
