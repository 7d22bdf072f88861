import { isIP } from 'node:net';
import { eventsOf, type MappedPage } from '../../gateway/api/read-trail.ts';
import { listEnvelopeFields } from '../../gateway/inference/envelope.ts';
import { EVENT_ENTRIES, readPointers } from '../../gateway/inference/event-entries.ts';
import { classesOf } from '../../gateway/inference/word-classes.ts';
import { splitMemberName } from '../../gateway/mapping/member-names.ts';
import { isObject } from '../../gateway/mapping/values.ts';
import { memoize } from '../../util/memoize.ts';

/** The characters of the names of fields. Numbers in these are short. */
const NAME = /^(?!.*\d{4})[\w$@#.:/ -]{0,80}$/;
/** Addresses, and a token or a UUID. */
const ADDRESS = /\S@/;
const ID = /^(?=(?:\D*\d){3})\S{20,}$|^[\da-f]{8}-/i;

/**
 * Finds the keys that are no names of fields, but data: those with the form of an ID or an address, those of several words
 * that inference does not know, persons, and keys in the same object as many of these; and the keys of objects with the
 * same members. What a contract names is a name, and so is a number of up to three digits, which may be an index.
 */
export function findDataKeys(
  pages: readonly MappedPage[],
  otherBodies: readonly unknown[] = [],
  otherContracts: readonly unknown[] = [],
): (keyOrToken: string) => boolean {
  const fields = EVENT_ENTRIES.filter(({ privacy }) => privacy === 'replaced');
  const persons = new Set<unknown>(fields.flatMap(({ read }) => eventsOf(pages).map(read)));
  const contracts = [...pages.map(({ contract }) => contract), ...otherContracts];
  const names = new Set(readPointers(contracts).flatMap((pointer) => pointer.split('/').slice(1)));
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const item of value) visit(item);
    if (!isObject(value)) return;
    const members = Object.values(value);
    const keys = Object.keys(value).filter(
      (key) => !/^\d{0,3}$/.test(key) && !names.has(splitMemberName(key).pointerToken),
    );
    const isData = (key: string) => hasFormOfData(key) || (persons.has(key) && !isKnown(key));
    const isMap = 2 * keys.filter(isData).length >= keys.length || haveSameKeys(members);
    for (const key of keys)
      if (isData(key) || (isMap && !isKnown(key)))
        found.add(key).add(splitMemberName(key).pointerToken);
    for (const member of members) visit(member);
  };
  for (const { response } of pages) visit(response.body);
  for (const body of otherBodies) visit(body);
  return (keyOrToken) => found.has(keyOrToken);
}

/** Whether a key has the form of an ID or an address, or has several words that inference does not know. */
function hasFormOfData(key: string): boolean {
  const isForm = !NAME.test(key) || ADDRESS.test(key) || ID.test(key) || isIP(key) !== 0;
  return isForm || (/\s/.test(key) && !isKnown(key));
}

/** Whether inference knows a word of a key. */
const isKnown = memoize((key) => {
  const { words } = splitMemberName(key);
  const [inEnvelope] = listEnvelopeFields({ [key]: true }, '/-');
  const isInEvent = words.split(' ').some((word) => classesOf(word).length > 0);
  return isInEvent || (inEnvelope?.kinds.size ?? 0) > 0;
});

function haveSameKeys(members: readonly unknown[]): boolean {
  const keys = members.map((member) => isObject(member) && Object.keys(member).join('\n'));
  return keys.length > 1 && keys.every((one) => one !== false && one === keys[0]);
}
