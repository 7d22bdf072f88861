/**
 * A record of the trail as the stub service sends it: about 300 bytes of JSON. As in real trails, every fifth record
 * has an escaped quote and characters beyond Latin-1. The quotes rule out parsers that look for the next quote, and one
 * such character makes V8 store the whole body with two bytes per character.
 */
export type TrailRecord = {
  readonly id: string;
  readonly occurred_at: string;
  readonly action: string;
  readonly actor: Party;
  readonly target: Party;
  readonly outcome: 'success' | 'failure';
  readonly ip_address: string;
  readonly user_agent: string;
};

type Party = { readonly id: string; readonly name: string; readonly type: string };

const NEWEST = Date.UTC(2026, 10, 21, 9, 30);

/** A trail of `length` records, newest first; always the same. */
export function makeTrail(length: number): readonly TrailRecord[] {
  return Array.from({ length }, (_, index) => ({
    id: `evt_${String(length - index).padStart(8, '0')}`,
    occurred_at: new Date(NEWEST - index * 61_337).toISOString(),
    action: take(ACTIONS, index),
    actor: { ...take(ACTORS, index * 7), type: 'user' },
    target: {
      id: `key_${1000 + (index % 250)}`,
      name: index % 5 === 4 ? `"Łódź" key of team ${index % 250}` : `Key of team ${index % 250}`,
      type: 'api_key',
    },
    outcome: index % 9 === 4 ? 'failure' : 'success',
    ip_address: `198.51.100.${index % 256}`,
    user_agent: take(AGENTS, index),
  }));
}

const ACTIONS = ['client.login', 'audit.read', 'key.create', 'key.rotate', 'key.delete'];
const ACTORS = [
  { id: 'usr_118', name: 'ada@example.com' },
  { id: 'usr_204', name: 'grace@example.com' },
  { id: 'usr_377', name: 'linus@example.com' },
];
const AGENTS = ['curl/8.14.1', 'reports/3.2 (python-httpx/0.28.1)', 'ci-runner/17.4'];

/** From the start again when the list is used up. */
function take<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length];
  if (item === undefined) throw new RangeError('there is nothing to take from');
  return item;
}
