import { isObject, tokenizeKey } from '../mapping/tokenize-key.ts';
import { memoiseWithin, memoize } from '../util/memoize.ts';

/** A place where values hold a text, a number or a boolean. */
export type FieldProfile = {
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
export type ProfileOptions = {
  /** Whether a value that was met, and its path, end it. */
  readonly isEnough?: (value: unknown, path: string) => boolean;
  /** The pointer of a list or an object whose places are counted only. */
  readonly apart?: string | null;
};

/** All places of some values, in the order in which they are met; of a list only its first item. */
export function profileFields(
  values: readonly unknown[],
  limits: ProfileOptions = {},
): readonly FieldProfile[] {
  const tour: Tour = { places: [], counted: 0, isOver: false, limits };
  const root = createSpot(null, null);
  for (const value of values) if (!tour.isOver) visit(tour, value, root);
  return tour.places;
}

type Tour = {
  readonly places: FieldProfile[];
  counted: number;
  isOver: boolean;
  readonly limits: ProfileOptions;
};

function visit(tour: Tour, value: unknown, spot: Spot): void {
  if (typeof value === 'object' && value !== null) {
    enter(tour, value, spot);
  } else if (!isNothing(value)) {
    spot.place ??= placeAt(tour.places, wayOf(spot));
    spot.place.values.push(value);
    const { isEnough } = tour.limits;
    if (isEnough !== undefined) tour.isOver = isEnough(value, spot.place.path);
  }
}

function enter(tour: Tour, parts: object, spot: Spot): void {
  const { apart = null } = tour.limits;
  if (apart !== null && wayOf(spot).pointer === apart) {
    tour.counted += countPlaces(parts, wayOf(spot).names);
  } else if (Array.isArray(parts)) {
    spot.item ??= createSpot(spot, null);
    if (parts.length > 0) visit(tour, parts[0], spot.item);
  } else if (isObject(parts) && wayOf(spot).names < MAX_DEPTH) {
    let index = 0;
    for (const name in parts) {
      if (tour.isOver || tour.places.length + tour.counted >= MAX_PLACES) return;
      visit(tour, parts[name], memberOf(spot, name, index));
      index += 1;
    }
  }
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
  item: Spot | undefined;
  /** In the order in which they were met, which is that of most objects. */
  readonly members: Spot[];
  /** The same by their names, from the first object on in which they stand in another order. */
  byName: Map<string | null, Spot> | undefined;
  /** Not for those that hold nothing. */
  way: Way | undefined;
  place: FieldProfile | undefined;
};

function createSpot(outer: Spot | null, name: string | null): Spot {
  const nothing = undefined;
  return { outer, name, members: [], item: nothing, byName: nothing, way: nothing, place: nothing };
}

function memberOf(spot: Spot, name: string, index: number): Spot {
  const { members } = spot;
  const expected = members[index];
  if (expected?.name === name) return expected;
  if (expected !== undefined) spot.byName ??= new Map(members.map((one) => [one.name, one]));
  const known = spot.byName?.get(name);
  if (known !== undefined) return known;
  const member = createSpot(spot, name);
  members.push(member);
  spot.byName?.set(name, member);
  return member;
}

/** What leads to a spot: put together once for all answers. */
type Way = Pick<FieldProfile, 'pointer' | 'path' | 'depth'> & {
  /** How many names its path has. */
  readonly names: number;
};

const START: Way = { pointer: '', path: '', depth: 0, names: 0 };

function wayOf(spot: Spot): Way {
  spot.way ??= spot.outer === null ? START : wayWithin(wayOf(spot.outer), spot.name);
  return spot.way;
}

const wayWithin = memoiseWithin(START, (outer, name) => {
  const { token, words } = name === null ? ITEM : parseKey(name);
  const weight = weightOf(name, outer.names);
  return {
    pointer: `${outer.pointer}/${token}`,
    path: weight === 0 ? outer.path : outer.names === 0 ? words : `${outer.path}/${words}`,
    depth: outer.depth + 1,
    names: outer.names + weight,
  };
});

/** How many names it adds to a path: an item adds none, and neither does what wraps a value. */
function weightOf(name: string | null, names: number): number {
  return name === null || (names > 0 && WRAPPED.test(name)) ? 0 : 1;
}

/** The first item of a list and a member named 0 are at the same place. */
function placeAt(places: FieldProfile[], { pointer, path, depth }: Way): FieldProfile {
  const isShared = pointer.includes('/0');
  const known = isShared ? places.find((place) => place.pointer === pointer) : undefined;
  if (known !== undefined) return known;
  const place = { pointer, path, depth, values: [] };
  places.push(place);
  return place;
}

/** What is told from a name alone. */
export const parseKey = memoize((name) => ({
  /** As it stands in a pointer (RFC 6901, section 3). */
  token: name.replaceAll('~', '~0').replaceAll('/', '~1'),
  /** A blank between two. */
  words: tokenizeKey(name).join(' '),
}));

const ITEM = { token: '0', words: '' };
