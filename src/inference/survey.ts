import { memoise } from '../memo.ts';
import { isObject, wordsOf } from '../reading/names.ts';

/** A place where values hold a text, a number or a boolean. */
export type Place = {
  /** RFC 6901. */
  readonly pointer: string;
  /** The words of the names on the way, a slash between two names: `actor/display name`. */
  readonly path: string;
  /** How many tokens the pointer has. */
  readonly depth: number;
  /** What stands there in those of the values that have something. */
  readonly values: unknown[];
};

const MAX_DEPTH = 6;
const MAX_PLACES = 1000;

/** Names that only wrap a value: `{"value": …}`, `{"$oid": …}` of MongoDB's extended JSON and its like. */
const WRAPPED = /^(?:value|\$\w+|#text|_)$/;

/** What a survey leaves out. */
export type Limits = {
  /** Whether a value that was met, and its path, end it. */
  readonly isEnough?: (value: unknown, path: string) => boolean;
  /** The pointer of a list or an object whose places are counted only. */
  readonly apart?: string | null;
};

/** All places of some values, in the order in which they are met; of a list only its first item. */
export function survey(
  values: readonly unknown[],
  { isEnough, apart = null }: Limits = {},
): readonly Place[] {
  const places = new Map<string, Place>();
  let isOver = false;
  let counted = 0;
  const visit = (value: unknown, spot: Spot) => {
    if (isNothing(value)) return;
    if (typeof value === 'object' && apart !== null && wayOf(spot).pointer === apart) {
      counted += countPlaces(value, spot.names);
    } else if (Array.isArray(value)) {
      if (value.length > 0) visit(value[0], within(spot, null));
    } else if (isObject(value)) {
      if (spot.names === MAX_DEPTH) return;
      for (const name in value) {
        if (isOver || places.size + counted >= MAX_PLACES) return;
        visit(value[name], within(spot, name));
      }
    } else {
      spot.place ??= placeAt(places, spot);
      spot.place.values.push(value);
      isOver = isEnough?.(value, spot.place.path) ?? false;
    }
  };
  const root: Spot = {
    outer: null,
    name: null,
    names: 0,
    inner: undefined,
    way: START,
    place: undefined,
  };
  for (const value of values) if (!isOver) visit(value, root);
  return [...places.values()];
}

function isNothing(value: unknown): boolean {
  return value === null || value === undefined || value === '';
}

/** How many places one value has. */
function countPlaces(value: unknown, names: number): number {
  if (Array.isArray(value)) return value.length > 0 ? countPlaces(value[0], names) : 0;
  if (!isObject(value)) return isNothing(value) ? 0 : 1;
  let count = 0;
  if (names === MAX_DEPTH) return count;
  for (const name in value) {
    if (count >= MAX_PLACES) return count;
    count += countPlaces(value[name], names + weightOf(name, names));
  }
  return count;
}

/** Where values stand, whatever they hold. */
type Spot = {
  readonly outer: Spot | null;
  /** Null for the first item of a list. */
  readonly name: string | null;
  /** How many names its path has. */
  readonly names: number;
  /** Its members by their names. */
  inner: Map<string | null, Spot> | undefined;
  way: Way | undefined;
  place: Place | undefined;
};

/** What leads to a spot: put together once for all values, and not for those that hold nothing. */
type Way = Pick<Place, 'pointer' | 'path' | 'depth'>;

const START: Way = { pointer: '', path: '', depth: 0 };

function within(outer: Spot, name: string | null): Spot {
  outer.inner ??= new Map();
  const known = outer.inner.get(name);
  if (known !== undefined) return known;
  const names = outer.names + weightOf(name, outer.names);
  const spot = { outer, name, names, inner: undefined, way: undefined, place: undefined };
  outer.inner.set(name, spot);
  return spot;
}

/** How many names it adds to a path: an item adds none, and neither does what wraps a value. */
function weightOf(name: string | null, names: number): number {
  return name === null || (names > 0 && WRAPPED.test(name)) ? 0 : 1;
}

function wayOf(spot: Spot): Way {
  const { outer, name, names } = spot;
  if (spot.way !== undefined || outer === null) return spot.way ?? START;
  const { pointer, path, depth } = wayOf(outer);
  const { token, words } = name === null ? ITEM : readName(name);
  const isSilent = names === outer.names;
  spot.way = {
    pointer: `${pointer}/${token}`,
    path: isSilent ? path : outer.names === 0 ? words : `${path}/${words}`,
    depth: depth + 1,
  };
  return spot.way;
}

/** The first item of a list and a member named 0 are at the same place. */
function placeAt(places: Map<string, Place>, spot: Spot): Place {
  const way = wayOf(spot);
  const place = places.get(way.pointer) ?? { ...way, values: [] };
  places.set(way.pointer, place);
  return place;
}

/** What is told from a name alone. */
export const readName = memoise((name) => ({
  /** As it stands in a pointer (RFC 6901, section 3). */
  token: name.replaceAll('~', '~0').replaceAll('/', '~1'),
  /** A blank between two. */
  words: wordsOf(name).join(' '),
}));

const ITEM = { token: '0', words: '' };
