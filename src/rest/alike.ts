// Exists because one pattern reads records that are written alike, and not short, in half of the time of JSON.parse.
import { isName } from '../memo.ts';
import { parseJson } from './json.ts';

/** In so many characters the list is looked for, and the end of its first record. */
const MAX_LENGTH = 8192;

/** So many characters are left after a text that was begun in vain, or written otherwise than the last: more will be. */
const PAUSE = 1_000_000;

/**
 * Makes what parses as `parseJson` does texts whose first list of objects has only such as are written alike but for
 * their texts, numbers, flags and nulls: by one pattern, that of the last text so read where it fits. Every other text
 * is left, and all where Node makes no code out of strings.
 */
export function createAlikeReader(): (text: string) => unknown {
  let usual: Read | undefined; // knows names and brackets only, of whomever
  let pause = 0;
  return (text) => {
    if (pause > 0) {
      pause -= text.length;
      return undefined;
    }
    try {
      const [head] = HEAD.exec(text.slice(0, MAX_LENGTH)) ?? [];
      if (head === undefined) return undefined;
      pause = PAUSE; // until it has gone well
      const start = head.length + 1;
      const asBefore = usual?.(text, start);
      const other = asBefore ? usual : compile(sketchOf(text.slice(start, start + MAX_LENGTH)));
      const [records, end] = asBefore ?? other?.(text, start) ?? [];
      const value = records && put(records, head, text.slice(end));
      if (value === undefined) return undefined;
      if (asBefore || usual === undefined) pause = 0;
      usual = other;
      return value;
    } catch {
      return undefined; // whoever reads it as a whole says what is wrong with it
    }
  };
}

/** What stands in front of a list of objects. With a record it is nested less deep than a body may be. */
const HEAD = /^(?:[^[{]*[[{]){0,30}?[^[{]*(?=\[\s*\{)/;

/** Puts the records where a text stands that can only be written by its escape, unless it stands elsewhere, too. */
function put(records: readonly unknown[], head: string, tail: string): unknown {
  const isAlone = !`${head}${tail}`.includes('\\u0000');
  const around = { value: parseJson(`${head}"\\u0000"${tail}`) };
  return isAlone && replace(around, records) ? around.value : undefined;
}

function replace(parts: object, records: readonly unknown[]): boolean {
  return Object.entries(parts).some(([name, part]) => {
    if (part === '\0') return Reflect.set(parts, name, records);
    return part instanceof Object && replace(part, records);
  });
}

/** The first record of a list, where it has another behind it. */
const FIRST = /^\s*(\{.*?\})(?=\s*,\s*\{)/s;

/** A text, or what else has no parts; numbers of so few digits are exact. */
const VALUE = String.raw`(?:"([^"\\\x00-\x1f]*)"|(null|true|false|-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?(?![\d.eE])))`;
const TOKEN = new RegExp(String.raw`${VALUE}(\s*:)?`, 'g');

/** Written as the first record: `?` for each of its values. */
function sketchOf(list: string): string {
  const [, first = ''] = FIRST.exec(list) ?? [];
  return first.replace(TOKEN, (token, _text, _other, colon) => (colon ? token : '?'));
}

/** Names that mean nothing in code and little in patterns, on 30 levels, and 64 values, which take V8 the longer, by the square. */
const PLAIN = /^(?=[^?]*\?)(?!(?:[^?]*\?){65}|(?:[^{]*\{){31})(?:[\s{},?]|"[\w@$:. -]*"\s*:)+$/;

/** Reads a list from its first record on, and says where it ends; null where that one is not written so. */
type Read = (text: string, start: number) => readonly [records?: unknown[], end?: number] | null;

/** Undefined where a sketch is not that of one plain record. */
function compile(sketch: string): Read | undefined {
  if (!PLAIN.test(sketch)) return undefined;
  const values = sketch.replace(/[{}.$]/g, String.raw`\$&`).replaceAll('?', () => VALUE);
  const pattern = new RegExp(String.raw`[ \t\n\r]*${values}[ \t\n\r]*([,\]])`, 'y');
  const make: (match: RegExpExecArray) => unknown = new Function(construct(sketch))();
  return (text, start) => {
    const records: unknown[] = [];
    pattern.lastIndex = start;
    for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
      records.push(make(match));
      if (match.at(-1) === ']') return [records, pattern.lastIndex];
    }
    return records.length === 0 ? null : [];
  };
}

/**
 * Objects are made by constructors: V8 may come to keep those of literals among what lives for long, with all that they
 * hold, once it has seen some survive; large answers then take a quarter longer.
 */
function construct(sketch: string): string {
  let code = '';
  const parts = sketch.split('?');
  const numbered = parts.reduce((all, part, index) => `${all} ${2 * index - 1} ${part}`);
  const made = JSON.parse(numbered, (name, part: number | Record<string, string>) => {
    if (!isName(name) || name in Object.prototype) throw new Error('This is for JSON.parse.');
    if (typeof part === 'number') return `match[${part}] ?? JSON.parse(match[${part + 1}])`;
    const members = Object.entries(part).map((member) => `this["${member.join('"] = ')};`);
    const made = `Part${code.length}`;
    code += `function ${made}(match) { ${members.join('')} } ${made}.prototype = Object.prototype;`;
    return `new ${made}(match)`;
  });
  return `${code} return (match) => ${made};`;
}
