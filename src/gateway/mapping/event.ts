import { lazy, memoizeByObject } from '../../util/memoize.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';
import type {
  EventContract,
  FormattedTime,
  LazyAuditContract,
  Mapped,
  PartyContract,
  Pointers,
} from './contract.ts';
import type { AUDIT_EVENT, Field } from './event-fields.ts';
import { compilePointer, compilePointers, isPointers, type PointerReader } from './json-pointer.ts';
import { type ListPage, readListPage } from './list-page.ts';
import { type EntryNames, FIRST_PAGE, type PageRequest } from './next-page.ts';
import { listEntries, type RecordEntry } from './read-entry.ts';
import { compileTime, type Instant, parseTime } from './time.ts';
import { type EventOutcome, parseHttpStatus, parseOutcome, toText } from './values.ts';

/** The value of a field by its GraphQL type. */
type FieldValues = {
  readonly ID: string;
  readonly String: string;
  readonly DateTime: Instant;
  readonly AuditOutcome: EventOutcome;
  readonly AuditParty: Party;
  readonly ApiKey: { readonly clientId: string };
};

type ValuesOf<Table extends Readonly<Record<string, { readonly field: Field }>>> = {
  readonly [Name in keyof Table]: FieldValues[Table[Name]['field']['type']] | null;
};

type EventValues = ValuesOf<typeof AUDIT_EVENT>;

/** The actor or the target of an event. */
export type Party = ValuesOf<(typeof AUDIT_EVENT)['actor']['entries']>;

/** One record of the audit trail. Each field is read when it is used; null means that it could not be determined. */
export class AuditEvent implements EventValues {
  /** The record as the service sent it. */
  readonly raw: unknown;
  readonly #read: EventReaders;
  /** Read once, however many filters compare it: a time with a zone takes 12 µs. */
  #occurredAt: Instant | null | undefined;

  constructor(raw: unknown, read: EventReaders) {
    this.raw = raw;
    this.#read = read;
  }

  /** The entries that a filter needs for a field, as configured or found in the records. */
  entriesOf(field: FilterField): readonly RecordEntry[] {
    return this.#read.entriesOf(field);
  }

  /** What identifies the record: the values that the contract names. Undefined if it names none, or the record has none. */
  get identity(): unknown {
    return this.#read.identity(this.raw);
  }
  get id(): string | null {
    return toText(this.#read.id(this.raw));
  }
  get occurredAt(): Instant | null {
    if (this.#occurredAt === undefined) this.#occurredAt = this.#read.occurredAt(this.raw);
    return this.#occurredAt;
  }
  get action(): string | null {
    return toText(this.#read.action(this.raw));
  }
  get outcome(): EventOutcome | null {
    const value = this.#read.outcome(this.raw);
    return parseOutcome(value) ?? parseHttpStatus(value);
  }
  get actor(): Party | null {
    return this.#read.actor(this.raw);
  }
  get target(): Party | null {
    return this.#read.target(this.raw);
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

/** One page of the audit trail. */
export type AuditPage = ListPage<AuditEvent>;

const AUDIT_ENTRY_NAMES: EntryNames = {
  paging: 'audit.paging',
  id: 'audit.event.id',
  total: 'audit.total',
};

/** Reads one page of the audit trail, as `readListPage` reads a list. */
export function readAuditPage(
  contract: LazyAuditContract,
  response: UpstreamResponse,
  request: PageRequest = FIRST_PAGE,
): AuditPage {
  const readers = lazy(() => readersOf(contract.event(), contract.identity));
  const toItem = (record: unknown) => new AuditEvent(record, readers());
  return readListPage(contract, response, { entryNames: AUDIT_ENTRY_NAMES, toItem }, request);
}

type EventReaders = ReturnType<typeof compileEventReaders>;

/** Once per contract: that of a gateway, or of a known shape, is the same object for every page. */
const readersByContract = memoizeByObject((contract: EventContract) =>
  compileEventReaders(contract),
);

/** The readers of an event. */
function readersOf(contract: EventContract, identity: Pointers = null): EventReaders {
  const readers = readersByContract(contract);
  return identity === null ? readers : { ...readers, identity: compileIdentity(identity) };
}

/** Compiles the contract of an event into one function per field, for use with every record of a page. */
export function compileEventReaders(contract: EventContract, identity: Pointers = null) {
  return {
    identity: compileIdentity(identity),
    id: compileValue(contract.id),
    occurredAt: compileOccurredAt(contract.occurredAt),
    action: compileValue(contract.action),
    outcome: compileValue(contract.outcome),
    actor: compilePartyReader(contract.actor),
    target: compilePartyReader(contract.target),
    ipAddress: compileValue(contract.ipAddress),
    userAgent: compileValue(contract.userAgent),
    /** Without types, which no filter compares. */
    entriesOf: (field: FilterField) =>
      listEntries(contract[field], field).filter(({ name }) => !name.endsWith('.type')),
  };
}

/** Returns a function that reads the values at all pointers of `audit.identity`. Undefined if a record has none of them. */
export function compileIdentity(pointers: Pointers): PointerReader {
  const readers = [pointers ?? []].flat().map(compilePointer);
  return (record) => {
    const values = readers.map((read) => read(record) ?? null);
    return values.every((value) => value === null) ? undefined : values;
  };
}

function compilePartyReader(contract: PartyContract): (record: unknown) => Party | null {
  const readIdentifier = compileValue(contract.identifier);
  const readName = compileValue(contract.name);
  const readType = compileValue(contract.type);
  const isApiKey = compileIsApiKey(contract.apiKey);
  return (record) => {
    const identifier = toText(readIdentifier(record));
    const name = toText(readName(record));
    const type = toText(readType(record));
    const isEmpty = identifier === null && name === null && type === null;
    if (isEmpty) return null;
    const apiKey = identifier !== null && isApiKey(type) ? { clientId: identifier } : null;
    return { identifier, name, type, apiKey };
  };
}

/** Types that are API keys in any service: `api_key`, `ApiKey`, `API keys`. */
const API_KEY = /^api[^\p{L}\p{N}]*keys?$/iu;

/** Compiles the entry `apiKey`. Without one, a party is a key if its type says so, see API_KEY. */
function compileIsApiKey(entry: PartyContract['apiKey']): (type: string | null) => boolean {
  if (entry === undefined) return (type) => type !== null && API_KEY.test(type);
  const types = new Set(entry === true ? [] : entry);
  return (type) => entry === true || (type !== null && types.has(type));
}

/** Reads a value, or a part of it, or the text for it in the map of the entry. */
function compileValue(entry: Pointers | Mapped): PointerReader {
  if (isPointers(entry)) return compilePointers(entry);
  const read = compilePart(entry);
  if (entry.map === undefined) return read;
  const texts = new Map(Object.entries(entry.map));
  return (record) => {
    const value = read(record);
    if (value == null || typeof value === 'object') return null;
    return texts.get(String(value)) ?? (entry.else === 'keep' ? String(value) : null);
  };
}

/** Reads the value at the pointers or, with a separator, one part of it. An empty part is null. */
export function compilePart({ at, split, part }: Omit<Mapped, 'map' | 'else'>): PointerReader {
  const read = compilePointers(at);
  if (split === undefined) return read;
  return (record) => {
    const text = toText(read(record)) ?? '';
    const index = text.indexOf(split);
    const end = index < 0 ? 0 : index + split.length;
    return (part === 1 ? text.slice(0, Math.max(0, index)) : text.slice(end)) || null;
  };
}

function compileOccurredAt(entry: Pointers | FormattedTime): (record: unknown) => Instant | null {
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
function compileJoined(pointers: Pointers, separator: string): (record: unknown) => string | null {
  const readers = [pointers ?? []].flat().map(compilePointers);
  return (record) => {
    const texts = readers.map((read) => toText(read(record)));
    return texts.includes(null) ? null : texts.join(separator);
  };
}

/** The first item of a list such as that of `X-Forwarded-For`, in which the client's address comes first. */
export function firstOfList(value: unknown): unknown {
  return typeof value === 'string' && value.includes(',')
    ? value.split(',', 1).join().trim()
    : value;
}
