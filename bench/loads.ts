/** A trail of the stub service, and the request that is repeated against it. */
export type Load = {
  /** As `--load` takes it. */
  readonly name: string;
  /** For tables. */
  readonly title: string;
  /** Records in the trail. */
  readonly records: number;
  /** `first` of the audit query. Null deletes an API key instead. */
  readonly first: number | null;
};

/** The loads that every peer runs. A trail of 10 records is 3 KB of JSON, of 1,000 300 KB, of 20,000 6 MB. */
export const LOADS: readonly Load[] = [
  { name: 'small', title: '10 records (3 KB)', records: 10, first: 10 },
  { name: 'thousand', title: '1,000 records (300 KB)', records: 1000, first: 1000 },
  { name: 'page', title: 'first 50 of 20,000 (6 MB)', records: 20_000, first: 50 },
  { name: 'delete', title: 'delete', records: 10, first: null },
];

/** `page` over other trails, for Keytrail alone: its CPU time should not depend on their length. */
export const PAGES: readonly Load[] = [100, 1000, 10_000, 100_000].map((records) => ({
  name: `page-${records}`,
  title: `first 50 of ${records}`,
  records,
  first: 50,
}));

const NEWEST = Date.UTC(2026, 10, 21, 9, 30);
const ACTIONS = ['client.login', 'audit.read', 'key.create', 'key.rotate', 'key.delete'];
const ACTORS = ['ada', 'grace', 'linus'];
const AGENTS = ['curl/8.14.1', 'reports/3.2 (python-httpx/0.28.1)', 'ci-runner/17.4'];

/** A record as the service sends it: about 300 bytes of JSON. */
export type TrailRecord = ReturnType<typeof makeTrail>[number];

/**
 * The first records of a trail of `length`, newest first; all of them by default. Always the same. As in real trails,
 * every fifth record has an escaped quote and characters beyond Latin-1. The quotes rule out parsers that look for the
 * next quote, and one such character makes V8 store the whole body with two bytes per character.
 */
export function makeTrail(length: number, first = length) {
  return Array.from({ length: Math.min(first, length) }, (_, index) => ({
    id: `evt_${String(length - index).padStart(8, '0')}`,
    occurred_at: new Date(NEWEST - index * 61_337).toISOString(),
    action: ACTIONS[index % ACTIONS.length] ?? '',
    actor: {
      id: `usr_${118 + (index % ACTORS.length)}`,
      name: `${ACTORS[index % ACTORS.length]}@example.com`,
      type: 'user',
    },
    target: {
      id: `key_${1000 + (index % 250)}`,
      name: index % 5 === 4 ? `"Łódź" key of team ${index % 250}` : `Key of team ${index % 250}`,
      type: 'api_key',
    },
    outcome: index % 9 === 4 ? ('failure' as const) : ('success' as const),
    ip_address: `198.51.100.${index % 256}`,
    user_agent: AGENTS[index % AGENTS.length] ?? '',
  }));
}

/** The body of the service's response for a trail of `length`. */
export function toTrail(length: number) {
  return { events: makeTrail(length), total: length };
}

/** Formats of times for {@link makeTrail}; each by name, as the token of a request has it. */
export const TIME_FORMATS: Readonly<Record<string, (iso: string) => string | number>> = {
  rfc2822: (iso) => new Date(iso).toUTCString(),
  epoch: (iso) => Date.parse(iso) / 1000,
  local: (iso) => iso.slice(0, 19).replace('T', ' '),
};
