import type { EventEntryName } from '../mapping/contract.ts';
import {
  endsInClass,
  isInObject,
  isInParty,
  isNamedTime,
  isRelated,
  partyOf,
  roleOf,
  withoutWrappers,
} from './field-path.ts';
import type { RecordField } from './record-fields.ts';
import type { ValueKind } from './value-kind.ts';
import { classesOf, type WordClass } from './word-classes.ts';

/** The entries of an event that are chosen by evidence, in the order of the columns of the weights. */
export const CHOSEN_ENTRIES = [
  ...(['id', 'occurredAt', 'action', 'outcome', 'ipAddress', 'userAgent'] as const),
  ...(['actor.identifier', 'actor.name', 'actor.type'] as const),
  ...(['target.identifier', 'target.name', 'target.type'] as const),
] as const satisfies readonly EventEntryName[];

export type ChosenEntry = (typeof CHOSEN_ENTRIES)[number];

const NO_TEXT: readonly ValueKind[] = ['flag', 'JSON', 'time', 'local time'];
const NUMBERS: readonly ValueKind[] = ['integer', 'decimal', 'epoch', 'status'];
const NO_WORD: readonly ValueKind[] = [...NO_TEXT, 'address', 'UUID', 'e-mail', 'link'];

/** Kinds of values that a part of an event cannot have. */
const IMPOSSIBLE: Readonly<Record<string, readonly ValueKind[]>> = {
  id: [...NO_TEXT, 'address', 'e-mail'],
  action: [...NO_WORD, 'epoch', 'hexadecimal'],
  userAgent: [...NO_WORD, ...NUMBERS],
  identifier: [...NO_TEXT, 'sentence'],
  name: [...NO_TEXT, ...NUMBERS],
  type: [...NO_WORD, 'sentence'],
};

/** Times that are never the time of the event. */
const OTHER_TIMES =
  /\b(?:updated|update|modified|modification|changed|expir\w*|ttl|valid|last|next|until|end|ended|finished|completed|deleted|delete|due|birth|scheduled|since|from|to|elapsed|duration|timezone|zone|offset|renew\w*|token)\b/;

/** What identifies a credential, such as the accessor of a token, or a product, such as a device or a browser: no party. */
const NO_PARTY = /\baccessor$|\bauth\/entity\b|\bdevice\b.*\bmodel\b|\buser agent\b/;

/** Names of an HTTP status. Any other number is a code of the service. */
const HTTP_STATUS =
  /(?:^|\/)(?:(?:action|event|operation|request) )?status code$|\b(?:http|response)[ /](?:\w+\/)?status(?: code)?$/;

/** Whether values can be what an entry means, whatever their field is named. */
export function hasPossibleValues(entry: ChosenEntry, field: RecordField): boolean {
  const { kind, kinds } = field;
  switch (entry) {
    case 'occurredAt':
      return kind === 'time' || kind === 'epoch';
    case 'outcome':
      return field.isOutcome;
    case 'ipAddress':
      return kinds.has('address');
    default:
      return !IMPOSSIBLE[partOf(entry)]?.some((one) => kinds.has(one));
  }
}

const partOf = (entry: ChosenEntry) => entry.slice(entry.indexOf('.') + 1);

/** Whether a field can be what an entry means: what its values must be, and what its name rules out. */
export function isCandidate(entry: ChosenEntry, field: RecordField): boolean {
  if (!hasPossibleValues(entry, field)) return false;
  const { kind, kinds, path, pointer } = field;
  const part = partOf(entry);
  switch (part) {
    case 'occurredAt':
      return !OTHER_TIMES.test(path) && !isInParty(path);
    case 'outcome':
      return !isInParty(path);
    case 'ipAddress':
      return !isOfThing(path) && (kinds.size === 1 || /\bip(?:v[46])?\b/.test(path));
    default:
      if (part === 'id') return !isInObject(path) && !isInParty(path) && !/\bkey$/.test(path);
      if (part !== entry)
        return (
          !NO_PARTY.test(path) &&
          !isRelated(path) &&
          (part !== 'type' || (kind !== 'record word' && !endsInClass(path, ['action'])))
        );
      if (part === 'action')
        return (
          !isTypeOfThing(path) &&
          !pointer.endsWith('/@type') &&
          (kind !== 'record word' || /^action/.test(path))
        );
      return true;
  }
}

/** The actor, what it uses, and what it sends: their address is that of the actor. */
const WITH_ADDRESS: readonly WordClass[] = [
  ...(['actor', 'address', 'agent', 'request', 'wrapper', 'record', 'action'] as const),
  ...(['happening', 'recording'] as const),
];

/** Words for where a request comes from. */
const ORIGIN =
  /\b(?:from|source|src|origin|origen|caller|peer|forwarded|public|external|real|location|access|session|api|insert)\b/;

/** Whether an address belongs to a thing that has a name of its own: `endpoint.ip_address`, `printer_ip`. */
function isOfThing(path: string): boolean {
  const [last = '', parent] = path.split('/').toReversed();
  const isOrigin = (words: readonly string[]) =>
    words.some(
      (word) => ORIGIN.test(word) || classesOf(word).some((one) => WITH_ADDRESS.includes(one)),
    );
  const isAddress = (word: string) => classesOf(word).includes('address') || word === 'ips';
  const head = last.split(' ').filter((word) => !isAddress(word));
  return head.length > 0 ? !isOrigin(head) : parent !== undefined && !isOrigin(parent.split(' '));
}

/** Whether a name is that of the kind of a thing, such as `document type`. */
function isTypeOfThing(path: string): boolean {
  const words = withoutWrappers(path).split('/').at(-1)?.split(' ') ?? [];
  const [last = '', ...before] = words.toReversed();
  return (
    classesOf(last).includes('type') &&
    before.length > 0 &&
    !before.some((word) => classesOf(word).some((one) => OF_ACTION.includes(one)))
  );
}

const OF_ACTION: readonly WordClass[] = [
  ...(['action', 'record', 'wrapper', 'happening', 'request', 'recording'] as const),
  'other time',
];

/** Whether all values are HTTP statuses, and the name says so. */
export function isHttpStatus({ kind, kinds, path }: RecordField): boolean {
  return kind === 'status' && kinds.size === 1 && HTTP_STATUS.test(path) && !isInParty(path);
}

/** Who takes part in an event without being its actor. */
const SECOND_PARTY =
  /\b(?:approv\w*|review\w*|requeste[dr]|requestor|assign\w*|notif\w*|checker|verif\w*|delegat\w*|watcher|subscriber|recipient)\b/;

/** Whether a field is about somebody who takes part in what another one does, such as who approves it. */
export function isOfSecondParty(path: string): boolean {
  return SECOND_PARTY.test(path);
}

/** Whether a field says who did what happened. */
export function isOfDoer(path: string): boolean {
  return !isOfSecondParty(path) && !isRelated(path) && roleOf(path) === 'actor';
}

/** A field among the others of a record. */
export type Contender = {
  readonly field: RecordField;
  readonly isCandidate: boolean;
  /** A record's `own` field rules out every `other` one: an ID, a time, a party of something else. */
  readonly rank: 'own' | 'other' | null;
};

/**
 * Whether a field may be read for an entry, and how it ranks. Training asks `isCandidate` alone: the fields that are ruled
 * out here teach what is wrong.
 */
export function toContender(entry: ChosenEntry, field: RecordField): Contender {
  const isRuledOut =
    entry === 'id' ? isShared(field) : entry.startsWith('actor') && IN_REQUEST.test(field.path);
  const mayBeRead = !isRuledOut && isCandidate(entry, field);
  const rank = rankOf(entry, field);
  // What may not be read rules out nothing, but for the time of a record without its zone.
  const counts = rank !== 'own' || mayBeRead || entry === 'occurredAt';
  return { field, isCandidate: mayBeRead, rank: counts ? rank : null };
}

/** What a request contains: it says what the actor wants, not who that is. */
const IN_REQUEST = /\brequest[ /](?:data|body|payload|params?|parameters?|input)\b/;

/** Names of an ID of the record itself, even if a page has a record twice. */
const OWN_ID = /^(?:(?:audit|log|entry|record|event|activity) )*(?:id|uuid)$/;

/** Whether a field is named as the ID of the record itself. */
export function isOwnId(path: string): boolean {
  return OWN_ID.test(withoutWrappers(path));
}

/** Whether records share a value: as they share a session, or the number of a kind of event. */
function isShared({ path, spread, kind }: RecordField): boolean {
  if (spread === 'unique' || spread === 'single') return false;
  const isNumber = kind === 'integer' || kind === 'status';
  return !OWN_ID.test(withoutWrappers(path)) || (isNumber && path.includes('event'));
}

/** Those of a record's fields that may be read. */
export function withoutOutranked<T extends Contender>(fields: readonly T[]): readonly T[] {
  const hasOwn = fields.some(({ rank }) => rank === 'own');
  return fields.filter(({ isCandidate, rank }) => isCandidate && !(hasOwn && rank === 'other'));
}

/** Names of the party of an event, the last words of what identifies it, and names that may be those of another party. */
const PARTIES = {
  actor: {
    // At the start: the author of a document, or the operator of a condition, is another one.
    own: /^(?:(?:auth|authentication|action|event)[ /])?(?:actor|initiator|performer|author|caller|requester|requestor|(?:performed|initiated|executed|triggered) by)\b/,
    parts: ['id', 'name', 'email', 'actor'],
    other: /\b(?:user|identity|member|person|employee)$/,
  },
  target: {
    own: /\btarget\b/,
    parts: ['id'],
    other: /\b(?:subject|object|resource|entity|item|asset)$/,
  },
} as const;

function rankOf(entry: ChosenEntry, field: RecordField): Contender['rank'] {
  const { kind, path } = field;
  const [role, part] = entry.split('.');
  switch (role) {
    case 'occurredAt': {
      if (isInObject(path)) return 'other';
      const isTime = kind === 'time' || kind === 'epoch' || kind === 'local time';
      return isTime && !OTHER_TIMES.test(path) && isNamedTime(path) ? 'own' : null;
    }
    case 'id':
      if (isInObject(path)) return 'other';
      return OWN_ID.test(withoutWrappers(path)) ? 'own' : null;
    case 'actor':
    case 'target': {
      const { own, parts, other } = PARTIES[role];
      if (part === 'type') return null; // often outside the party
      const ownPath = withoutWrappers(path);
      if (own.test(ownPath)) return endsInClass(path, parts) ? 'own' : null;
      return other.test(partyOf(ownPath) ?? '') ? 'other' : null;
    }
    default:
      return null;
  }
}
