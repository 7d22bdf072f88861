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
    if (spot.pointer === apart && typeof value === 'object') {
      counted += countPlaces(value, spot.names);
    } else if (Array.isArray(value)) {
      if (value.length > 0) visit(value[0], within(spot, null));
    } else if (isObject(value)) {
      if (spot.names === MAX_DEPTH) return;
      for (const name in value) {
        if (isOver || places.size + counted >= MAX_PLACES) return;
        visit(value[name], within(spot, name));
      }
    } else if (value != null && value !== '') {
      spot.place ??= placeAt(places, spot);
      spot.place.values.push(value);
      isOver = isEnough?.(value, spot.place.path) ?? false;
    }
  };
  const root: Spot = {
    pointer: '',
    path: '',
    depth: 0,
    names: 0,
    inner: undefined,
    place: undefined,
  };
  for (const value of values) if (!isOver) visit(value, root);
  return [...places.values()];
}

/** How many places one value has. */
function countPlaces(value: unknown, names: number): number {
  if (Array.isArray(value)) return value.length > 0 ? countPlaces(value[0], names) : 0;
  if (!isObject(value)) return value == null || value === '' ? 0 : 1;
  let count = 0;
  if (names === MAX_DEPTH) return count;
  for (const name in value) {
    const isSilent = names > 0 && WRAPPED.test(name);
    count += countPlaces(value[name], isSilent ? names : names + 1);
  }
  return count;
}

/** Where values stand, whatever they hold: what is said of it is put together once for all of them. */
type Spot = Pick<Place, 'pointer' | 'path' | 'depth'> & {
  /** How many names its path has. */
  readonly names: number;
  /** Its members by their names, and the first item of a list by null. */
  inner: Map<string | null, Spot> | undefined;
  place: Place | undefined;
};

function within(outer: Spot, name: string | null): Spot {
  outer.inner ??= new Map();
  const { pointer, path, depth, names, inner } = outer;
  const known = inner.get(name);
  if (known !== undefined) return known;
  const { token, words, wraps } = name === null ? ITEM : readName(name);
  const isSilent = name === null || (wraps && names > 0);
  const spot = {
    pointer: `${pointer}/${token}`,
    path: isSilent ? path : names === 0 ? words : `${path}/${words}`,
    depth: depth + 1,
    names: isSilent ? names : names + 1,
    inner: undefined,
    place: undefined,
  };
  inner.set(name, spot);
  return spot;
}

/** The first item of a list and a member named 0 are at the same place. */
function placeAt(places: Map<string, Place>, { pointer, path, depth }: Spot): Place {
  const place = places.get(pointer) ?? { pointer, path, depth, values: [] };
  places.set(pointer, place);
  return place;
}

/** What is told from a name alone. */
export const readName = memoise((name) => ({
  /** As it stands in a pointer (RFC 6901, section 3). */
  token: name.replaceAll('~', '~0').replaceAll('/', '~1'),
  /** A blank between two. */
  words: wordsOf(name).join(' '),
  wraps: WRAPPED.test(name),
}));

const ITEM = { token: '0', words: '', wraps: true };
