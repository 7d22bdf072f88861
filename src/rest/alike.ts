// Exists because one pattern reads records that are written alike, and not short, in half of the time of JSON.parse.
import { LRUCache } from 'lru-cache';
import { isName } from '../memo.ts';
import { parseJson } from './json.ts';

/** So much becomes one string: what is kept of a record, or by V8 of its last match, keeps all of it. */
const PIECE_BYTES = 49_152;

/** In so many characters the list is looked for, and the end of its first record, or of one that goes on in the next piece. */
const MAX_LENGTH = 8192;

/** So many small answers are left after one that was begun in vain, or written otherwise than the last: more will be. */
const PAUSE = 100;
const LARGE_BYTES = 65_536;

/** Parses a body, or leaves it: then it gives undefined. */
export type AlikeReader = (body: Buffer) => unknown;

/**
 * Makes what parses as `parseJson` does texts whose first list of objects has only such as are written alike but for
 * their texts, numbers, flags and nulls. They are read by one pattern, that of the answer before where it fits. Every
 * other text is left, and all where Node makes no code out of strings. Of records of 300 characters it takes half of the
 * time of `JSON.parse` or less, of records of 40 about as long.
 */
export function createAlikeReader(): AlikeReader {
  /** By names and brackets only, of whomever. */
  const shapes = new LRUCache<string, Shape>({ max: 100, memoMethod: compile });
  let usual: Shape | undefined;
  let pause = 0;
  return (body) => {
    if (pause > 0 && body.length < LARGE_BYTES) {
      pause -= 1;
      return undefined;
    }
    try {
      const pieces = split(body);
      const text = pieces.next().value ?? '';
      const [head] = HEAD.exec(text.slice(0, MAX_LENGTH)) ?? giveUp();
      pause = PAUSE; // until it has gone well
      const before = usual;
      const list = text.slice(head.length + 1);
      if (usual === undefined || list.search(usual.pattern) < 0)
        usual = shapes.memo(sketchOf(list));
      const { records, rest } = readRecords(usual, list, pieces);
      const value = put(records, head, rest + [...pieces].join(''));
      if (before === undefined || before === usual) pause = 0;
      return value;
    } catch {
      return undefined; // whoever reads it as a whole says what is wrong with it
    }
  };
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const BRACE_END = 0x7d;

/** Cuts behind braces, so never inside of a character. */
function* split(body: Buffer): Generator<string, undefined> {
  for (let at = 0; at < body.length; ) {
    const end = body.indexOf(BRACE_END, at + PIECE_BYTES) + 1 || body.length;
    yield UTF_8.decode(body.subarray(at, end));
    at = end;
  }
}

/** What stands in front of a list of objects. With a record it is nested less deep than a body may be. */
const HEAD = /^(?:[^[{]*[[{]){0,30}?[^[{]*(?=\[\s*\{)/;

function giveUp(): never {
  throw UNLIKE;
}

const UNLIKE = new Error('This is for JSON.parse.');

/** How records are written, and what makes one of a match. */
type Shape = { readonly pattern: RegExp; readonly make: (match: RegExpExecArray) => unknown };

function readRecords({ pattern, make }: Shape, list: string, pieces: Iterator<string, undefined>) {
  const records: unknown[] = [];
  let rest = list;
  pattern.lastIndex = 0;
  for (;;) {
    const at = pattern.lastIndex;
    const match = pattern.exec(rest);
    if (match === null) {
      if (rest.length - at > MAX_LENGTH) giveUp();
      rest = rest.slice(at) + (pieces.next().value ?? giveUp()); // from its beginning, see RegExp.lastIndex
    } else {
      records.push(make(match));
      if (match.at(-1) === ']') return { records, rest: rest.slice(pattern.lastIndex) };
    }
  }
}

/** Stands for the records: a text that can only be written by its escape. */
const PLACE = '\0';

/** Puts the records between two parts of a text. Gives up where another member of its name stands for theirs. */
function put(records: readonly unknown[], head: string, tail: string): unknown {
  const isAlone = !head.includes('\\u0000') && !tail.includes('\\u0000');
  const around = { value: parseJson(`${head}"\\u0000"${tail}`) };
  return isAlone && replace(around, records) ? around.value : giveUp();
}

function replace(parts: object, records: readonly unknown[]): boolean {
  const members = parts as Record<string, unknown>; // an object has members
  for (const name in members) {
    const part = members[name];
    if (part === PLACE) members[name] = records;
    if (part === PLACE || (typeof part === 'object' && part !== null && replace(part, records)))
      return true;
  }
  return false;
}

/** The first record of a list, where it has another behind it. */
const FIRST = /^\s*(\{.*?\})(?=\s*,\s*\{)/s;

/** A text, or what else has no parts; numbers of so few digits are exact. */
const VALUE = String.raw`(?:"([^"\\\x00-\x1f]*)"|(null|true|false|-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?(?![\d.eE])))`;
const TOKEN = new RegExp(String.raw`${VALUE}(\s*:)?`, 'g');

/** Written as the first record: `?` for each of its values. */
function sketchOf(list: string): string {
  const [, first = ''] = FIRST.exec(list.slice(0, MAX_LENGTH)) ?? giveUp();
  return first.replace(TOKEN, (token, _text, _other, colon) => (colon ? token : '?'));
}

/** Names that mean nothing in code and little in patterns, on 30 levels, and 64 values, which take V8 the longer, by the square. */
const PLAIN = /^(?=[^?]*\?)(?!(?:[^?]*\?){65}|(?:[^{]*\{){31})(?:[\s{},?]|"[\w@$:. -]*"\s*:)+$/;
const NAME = /"(.*?)"/g;

/** Throws where a sketch is not that of one plain record. */
function compile(sketch: string): Shape {
  const names = Array.from(sketch.matchAll(NAME), ([, name = '']) => name);
  const isPlain = names.every((name) => isName(name) && !(name in Object.prototype));
  if (!isPlain || !PLAIN.test(sketch)) giveUp();
  JSON.parse(sketch.replaceAll('?', '0')); // what is no JSON may still be code
  let group = -1;
  const code = sketch.replaceAll('?', () => {
    group += 2;
    return `match[${group}] ?? JSON.parse(match[${group + 1}])`;
  });
  const values = sketch.replace(/[{}.$]/g, String.raw`\$&`).replaceAll('?', () => VALUE);
  return {
    pattern: new RegExp(String.raw`[ \t\n\r]*${values}[ \t\n\r]*([,\]])`, 'y'),
    make: new Function(construct(code))(),
  };
}

/**
 * Objects are made by constructors: V8 may come to keep those of literals among what lives for long, with all that they
 * hold, once it has seen some survive; large answers then take a quarter longer.
 */
function construct(code: string): string {
  const constructors: string[] = [];
  let made = code;
  while (made.includes('{')) {
    made = made.replace(/\{([^{}]*)\}/g, (_, members: string) => {
      const name = `Part${constructors.length}`;
      const body = members.replace(/(?:^|,)\s*("[^"]*")\s*:/g, ';this[$1]=');
      constructors.push(`function ${name}(match) {${body}}${name}.prototype = Object.prototype;`);
      return `new ${name}(match)`;
    });
  }
  return `${constructors.join('')}return (match) => ${made};`;
}
