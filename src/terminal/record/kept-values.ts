import { isIP } from 'node:net';
import {
  EVENT_ENTRIES,
  type EventEntry,
  readPointers,
} from '../../gateway/inference/event-entries.ts';
import { examineRecords } from '../../gateway/inference/record-fields.ts';
import type { AuditContract, ConfiguredContract, Split } from '../../gateway/mapping/contract.ts';
import type { AuditEvent } from '../../gateway/mapping/event.ts';
import { wordsOfPointer } from '../../gateway/mapping/member-names.ts';
import { compileTime, parseTime, type TimeNotation } from '../../gateway/mapping/time.ts';
import { isObject, parseHttpStatus, parseOutcome } from '../../gateway/mapping/values.ts';
import { holdsKey } from '../../util/key-forms.ts';

/** Letters, digits and signs without spaces, in a script that has spaces, and no long number: no sentence, no ID. */
const CODE =
  /^(?!.*(?:\d{7}|\/\/))(?=.*\p{L}|\d{1,6}$)[\p{scx=Latn}\p{scx=Grek}\p{scx=Cyrl}\d][\p{scx=Latn}\p{scx=Grek}\p{scx=Cyrl}\d._:/$#*+>|()-]{0,99}$/u;
const ID = /^[\da-f-]{16,}$/i;

/** A few words without signs. */
const PHRASE = /^[\p{scx=Latn}\d]+(?: [\p{scx=Latn}\d]+){0,3}$/u;

/** Names of texts for people. Inference reads the action from them if there is no better name. */
const PROSE =
  /^(?:name|summary|title|message|description|text|comment|detail|note|display message|event description)$/;

/** A word with a capital letter. */
const NAME = /^\p{Lu}\p{Ll}+$/u;

/** One or more capital letters, or small ones. */
const WORD = /^\p{Lu}?\p{Ll}+$|^\p{Lu}+$/u;

/** How a contract reads the text at a pointer, or a part of it. */
type FieldEntry = Partial<Split & TimeNotation> & {
  readonly field: EventEntry;
  readonly pointer: string;
  readonly isConfigured: boolean;
  readonly map?: Readonly<Record<string, string>>;
  readonly join?: string;
};

/** The texts that the maps and lists of a contract contain. A service that sends one sends nothing new. */
export function textsOf({ audit }: ConfiguredContract): ReadonlySet<string> {
  const { action, outcome, actor, target } = audit?.event ?? {};
  const entries = [action, outcome, actor?.type, target?.type];
  const maps = entries.flatMap((entry) =>
    isObject(entry) ? Object.keys(Object(entry['map'])) : [],
  );
  return new Set([...maps, ...[actor?.apiKey, target?.apiKey].flat().map(String)]);
}

/**
 * Creates a function that redacts the value of a field of a record, of which it keeps what mapping must understand. Fields
 * that are equal in all records remain equal, since inference counts them as one.
 */
export function createFieldRedaction(
  { event: contract }: AuditContract,
  configured: ConfiguredContract,
  records: readonly unknown[],
  standInOf: (text: string) => string,
) {
  const texts = textsOf(configured);
  const readings = Map.groupBy(listReadings(contract, configured), ({ pointer }) => pointer);
  const { fields } = examineRecords(records);
  const readAs = (pointer: string) => {
    const field = fields.find((one) => one.pointer === pointer);
    const equal = fields.filter(({ same }) => same === field?.same);
    return equal.map((one) => readings.get(one.pointer)).find((found) => found !== undefined);
  };
  return (pointer: string, text: string, event: AuditEvent): string => {
    const found = readings.get(pointer) ?? readAs(pointer) ?? [];
    const redactPart = (part: string, number: 1 | 2) => {
      const ofPart = found.filter((one) => one.part === number);
      const own = ofPart.length > 0 ? ofPart : found.filter((one) => one.part === undefined);
      const isPersonal = own.length === 0 || !own.every(({ field }) => field.privacy === 'kept');
      if (isPersonal) return standInOf(part);
      if (texts.has(part)) return part;
      const [kept] = own
        .map((one) => keep(one, part, event, standInOf))
        .filter((one) => one !== null);
      return kept ?? standInOf(part);
    };
    const { split = '' } = found.find((one) => one.split !== undefined) ?? {};
    const index = split === '' ? -1 : text.indexOf(split);
    return index < 0
      ? redactPart(text, 2)
      : redactPart(text.slice(0, index), 1) +
          split +
          redactPart(text.slice(index + split.length), 2);
  };
}

function listReadings(
  contract: AuditContract['event'],
  { audit }: ConfiguredContract,
): readonly FieldEntry[] {
  return EVENT_ENTRIES.flatMap((field) => {
    const entry = field.entryOf(contract);
    const keys = field.name.split('.');
    const given = keys.reduce<unknown>((part, key) => Object(part)[key], audit?.event);
    const pointers = toPatterns(entry);
    return pointers.map((pointer) => ({
      ...(isObject(entry) ? entry : {}),
      ...{ field, pointer, isConfigured: given !== undefined },
    }));
  });
}

/** The pointers of entries, with 0 for every index: the other items of a list mean the same. */
export function toPatterns(entries: unknown): readonly string[] {
  return readPointers(entries).map((pointer) => pointer.replace(/\/\d+(?=\/|$)/g, '/0'));
}

/** The value that mapping reads like this one, and which says no more than that; null if there is none. */
function keep(
  reading: FieldEntry,
  text: string,
  { occurredAt }: AuditEvent,
  standInOf: (text: string) => string,
): string | null {
  const { field, pointer, isConfigured, map, as, zone, join } = reading;
  if (map !== undefined && !('else' in reading)) return null;
  const words = wordsOfPointer(pointer);
  const outcome = field.name === 'outcome' ? parseOutcome(text) : null;
  if (outcome !== null && !WORD.test(text)) return writeOutcome(outcome, text, standInOf(text));
  const stays = () => {
    switch (field.name) {
      case 'occurredAt': {
        const parse = as === undefined ? parseTime : compileTime({ as, zone });
        return text.length <= 100 && (join === undefined ? parse(text) : occurredAt) !== null;
      }
      case 'outcome':
        return outcome !== null || parseHttpStatus(text) !== null;
      case 'action':
        return (
          isCode(text) && (isConfigured || !PROSE.test(words) || /event\/name$/i.test(pointer))
        );
      default: {
        // A field that is named after the party alone may have its name: `{"target": "Ann"}`.
        const isType = isConfigured || /\b(?:type|kind|class|category)$/.test(words);
        return isType ? PHRASE.test(text) || isCode(text) : isCode(text) && !NAME.test(text);
      }
    }
  };
  return stays() && (field.name === 'occurredAt' || !holdsKey(text)) ? text : null;
}

/** The word of an outcome before a stand-in: one constant or several words, as the text. */
function writeOutcome(outcome: string, text: string, standIn: string): string {
  const word = text === text.toUpperCase() ? outcome : outcome.toLowerCase();
  return `${word}${/\s/.test(text) ? ' ' : '_'}${standIn}`;
}

function isCode(text: string): boolean {
  return CODE.test(text) && !ID.test(text) && isIP(text) === 0;
}
