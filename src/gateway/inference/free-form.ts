import { isInParty } from './field-path.ts';
import type { RecordField } from './record-fields.ts';
import { classesOf, type WordClass } from './word-classes.ts';

/** Words in the names of members of free form. */
const FREE_FORM =
  /\b(?:detail|metadata|data|payload|request|parameter|param|body|context|change|old|new|before|after|extra|attribute|property|tag|label)\b/;

/** What an object is about that a service fills in itself. */
const MEANINGS: readonly WordClass[] = [
  ...([
    'actor',
    'target',
    'action',
    'outcome',
    'address',
    'agent',
    'id',
    'type',
    'record',
  ] as const),
  ...(['time', 'happening', 'recording', 'request', 'surroundings'] as const),
];

/** What a field of a record says that is not within another object. */
const OF_EVENT: readonly WordClass[] = ['actor', 'target', 'time', 'happening', 'outcome'];

/** Other objects that a service fills in itself. */
const OF_SERVICE = /^(?:auth|authentication|authorization|http)$/;

/**
 * Whether the caller may have chosen the fields of a member: a word of its name says so, or inference does not know the
 * last one. `info` and `fields` only say that it has fields.
 */
function isFreeForm(key: string): boolean {
  const name = key.replace(/ (?:info|information|field)$/, '');
  const last = name.slice(name.lastIndexOf(' ') + 1);
  if (FREE_FORM.test(key)) return true;
  return !OF_SERVICE.test(last) && !classesOf(last).some((one) => MEANINGS.includes(one));
}

/** Whether the last word of an object's name is one of a party: `acting_user`, not `user_event`. */
function isParty(key: string): boolean {
  const classes = classesOf(key.slice(key.lastIndexOf(' ') + 1));
  return (classes.includes('actor') || classes.includes('target')) && !classes.includes('record');
}

function hasMeaning(key: string, meanings: readonly WordClass[]): boolean {
  return key.split(' ').some((word) => classesOf(word).some((one) => meanings.includes(one)));
}

/** The fields of records by where they are. */
export type Levels = {
  /** Those of the record itself, which the service has written. */
  readonly own: readonly RecordField[];
  /** Those in a member of free form, such as `details`, which the caller may have sent. */
  readonly free: readonly RecordField[];
  /** Whether one of several members of free form may be the record itself: then none of them is read. */
  readonly isAmbiguous: boolean;
};

/**
 * Tells the fields of the record itself from those in members of free form. An object that only some records have counts
 * as the latter, unless it is a party: what one caller sends must not change other records. A record whose own fields have
 * neither a time nor an object is in the only member of free form that has a time in all records: `attributes` in JSON:API.
 */
export function splitLevels(fields: readonly RecordField[]): Levels {
  let levels = splitBelow(fields, '');
  for (let wrapper = ''; ; levels = splitBelow(fields, wrapper)) {
    const [only, ...others] = listWrappers(levels, wrapper);
    if (only === undefined || others.length > 0)
      return { ...levels, isAmbiguous: others.length > 0 };
    wrapper += `${only}/`;
  }
}

/** @param wrapper The path of an object that belongs to the record, with a slash at its end; empty for the record. */
function splitBelow(fields: readonly RecordField[], wrapper: string): Pick<Levels, 'own' | 'free'> {
  const own: RecordField[] = [];
  const free: RecordField[] = [];
  const always = new Set(
    fields.flatMap((field) => (field.isInAll ? keysBelow(field, wrapper)[0] : [])),
  );
  for (const field of fields) {
    const [first = '', ...others] = keysBelow(field, wrapper);
    const parents = [first, ...others].slice(0, -1);
    // An object that only some records have is theirs only if it is a party.
    const isOptional = others.length > 0 && !always.has(first) && !isParty(first);
    (isOptional || parents.some(isFreeForm) ? free : own).push(field);
  }
  return { own, free };
}

/** The members of a wrapper that may contain the record. */
function listWrappers(
  { own, free }: Pick<Levels, 'own' | 'free'>,
  outer: string,
): readonly (string | undefined)[] {
  const isOfEvent = (field: RecordField) => {
    const [first = '', ...others] = keysBelow(field, outer);
    return isTime(field) || others.length > 0 || hasMeaning(first, OF_EVENT);
  };
  if (own.some(isOfEvent)) return [];
  const times = free.filter(
    (field) => field.isInAll && isTime(field) && field.path.startsWith(outer),
  );
  return [...new Set(times.map((field) => keysBelow(field, outer)[0]))];
}

function keysBelow({ path }: RecordField, wrapper: string): readonly string[] {
  return (path.startsWith(wrapper) ? path.slice(wrapper.length) : path).split('/');
}

function isTime({ kind, path }: RecordField): boolean {
  return (kind === 'time' || kind === 'epoch' || kind === 'local time') && !isInParty(path);
}
