import type {
  EventContract,
  FormattedTime,
  Lazy,
  Mapped,
  PartyContract,
  Pointers,
} from './contract.ts';
import { type EventOutcome, parseHttpStatus, parseOutcome } from './outcome.ts';
import { compilePointers, isPointers } from './read-source.ts';
import { compileTime, type Instant, parseTime } from './time.ts';
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
    return this.#read.id(this.raw);
  }
  get occurredAt(): Instant | null {
    return this.#read.occurredAt(this.raw);
  }
  get action(): string | null {
    return this.#read.action(this.raw);
  }
  get actor(): Party | null {
    return this.#read.actor(this.raw);
  }
  get target(): Party | null {
    return this.#read.target(this.raw);
  }
  get outcome(): EventOutcome | null {
    return this.#read.outcome(this.raw);
  }
  get ipAddress(): string | null {
    return this.#read.ipAddress(this.raw);
  }
  get userAgent(): string | null {
    return this.#read.userAgent(this.raw);
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
  return {
    id: compileLazily(contract.id, compileText),
    occurredAt: compileLazily(contract.occurredAt, compileOccurredAt),
    action: compileLazily(contract.action, compileText),
    outcome: compileLazily(contract.outcome, (entry) => compileMapped(entry, parseOutcomeOrStatus)),
    ipAddress: compileLazily(contract.ipAddress, (entry) => compileMapped(entry, toAddress)),
    userAgent: compileLazily(contract.userAgent, compileText),
    actor: compilePartyReader(contract.actor),
    target: compilePartyReader(contract.target),
    /** The time as the service sent it. */
    time: compileLazily(contract.occurredAt, (entry) =>
      compilePointers(isPointers(entry) ? entry : entry.at),
    ),
    isLocated: (field: FilterField) => isLocated(contract[field]),
  };
}

function compilePartyReader(contract: Lazy<PartyContract>): (record: unknown) => Party | null {
  const readIdentifier = compileLazily(contract.identifier, compileText);
  const readName = compileLazily(contract.name, compileText);
  const readType = compileLazily(contract.type, compileText);
  return (record) => {
    const identifier = readIdentifier(record);
    const name = readName(record);
    const type = readType(record);
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

/** Reads a field of a record. */
type Reader<Value> = (record: unknown) => Value | null;

/** Compiles an entry when it is first used: only then it is inferred, if it is not configured. */
function compileLazily<Entry extends string | object | null, Value>(
  entry: Entry | (() => Entry),
  compile: (entry: Entry) => Reader<Value>,
): Reader<Value> {
  let read: Reader<Value> | undefined;
  return (record) => {
    read ??= compile(typeof entry === 'function' ? entry() : entry);
    return read(record);
  };
}

function parseOutcomeOrStatus(value: unknown): EventOutcome | null {
  return parseOutcome(value) ?? parseHttpStatus(value);
}

function toAddress(value: unknown): string | null {
  return toText(firstOfList(value));
}

function compileText(entry: Pointers | Mapped): Reader<string> {
  return compileMapped(entry, toText);
}

/** Reads a value: the text for it in the map of the entry, or without a map the result of `parse`. */
function compileMapped<Text extends string>(
  entry: Pointers | Mapped<Text>,
  parse: (value: unknown) => Text | null,
): Reader<Text> {
  const read = compilePointers(isPointers(entry) ? entry : entry.at);
  if (isPointers(entry)) return (record) => parse(read(record));
  const texts = new Map(Object.entries(entry.map));
  return (record) => {
    const value = read(record);
    return typeof value === 'object' ? null : (texts.get(String(value)) ?? null);
  };
}

function compileOccurredAt(entry: Pointers | FormattedTime): Reader<Instant> {
  if (isPointers(entry)) {
    const read = compilePointers(entry);
    return (record) => parseTime(read(record));
  }
  const { at, join } = entry;
  const parse = compileTime(entry);
  const read = join === undefined ? compilePointers(at) : compileJoined(at, join);
  return (record) => parse(read(record));
}

/** Joins the values of all pointers. Null if one of them is missing. */
function compileJoined(pointers: Pointers, separator: string): Reader<string> {
  const readers = [pointers ?? []].flat().map(compilePointers);
  return (record) => {
    const texts = readers.map((read) => toText(read(record)));
    return texts.includes(null) ? null : texts.join(separator);
  };
}
