import { isObject, wordsOf } from '../reading/names.ts';
import { memoise } from './memo.ts';

/** A place where values hold a text, a number or a boolean. */
export type Place = {
  /** RFC 6901. */
  readonly pointer: string;
  /** The words of the names on the way, a slash between two names: `actor/display name`. */
  readonly path: string;
  /** What stands there in those of the values that have something. */
  readonly values: unknown[];
};

const MAX_DEPTH = 6;
const MAX_PLACES = 1000;

/** Names that only wrap a value: `{"value": …}`, `{"$oid": …}` of MongoDB's extended JSON and its like. */
const WRAPPED = /^(?:value|\$\w+|#text|_)$/;

/**
 * All places of some values, in the order in which they are met; of a list only its first item.
 * @param isEnough whether a value that was met, and its path, end the search.
 */
export function survey(
  values: readonly unknown[],
  isEnough: (value: unknown, path: string) => boolean = () => false,
): readonly Place[] {
  const places = new Map<string, Place>();
  let isOver = false;
  const visit = (value: unknown, spot: Spot) => {
    if (Array.isArray(value)) {
      if (value.length > 0) visit(value[0], within(spot, null));
    } else if (isObject(value)) {
      if (spot.depth === MAX_DEPTH) return;
      for (const name in value) {
        if (isOver || places.size === MAX_PLACES) return;
        visit(value[name], within(spot, name));
      }
    } else if (value !== null && value !== undefined && value !== '') {
      spot.place ??= placeAt(places, spot);
      spot.place.values.push(value);
      isOver = isEnough(value, spot.place.path);
    }
  };
  const root: Spot = { pointer: '', path: '', depth: 0, inner: new Map(), place: undefined };
  for (const value of values) if (!isOver) visit(value, root);
  return [...places.values()];
}

/** Where values stand, whatever they hold: what is said of it is put together once for all of them. */
type Spot = Pick<Place, 'pointer' | 'path'> & {
  /** How many names of its path lead to it. */
  readonly depth: number;
  /** Its members by their names, and the first item of a list by null. */
  readonly inner: Map<string | null, Spot>;
  place: Place | undefined;
};

function within({ pointer, path, depth, inner }: Spot, name: string | null): Spot {
  const known = inner.get(name);
  if (known !== undefined) return known;
  const { token, words, wraps } = name === null ? ITEM : readName(name);
  const isSilent = name === null || (wraps && depth > 0);
  const spot = {
    pointer: `${pointer}/${token}`,
    path: isSilent ? path : depth === 0 ? words : `${path}/${words}`,
    depth: isSilent ? depth : depth + 1,
    inner: new Map(),
    place: undefined,
  };
  inner.set(name, spot);
  return spot;
}

/** The first item of a list and a member named 0 are at the same place. */
function placeAt(places: Map<string, Place>, { pointer, path }: Spot): Place {
  const place = places.get(pointer) ?? { pointer, path, values: [] };
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
