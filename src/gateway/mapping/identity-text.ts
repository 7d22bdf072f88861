import type { ListItem } from './list-page.ts';
import { isObject } from './values.ts';

/**
 * What identifies an item, as JSON: what the contract names, or else its record. The order of members does not matter:
 * services that keep them in hash maps return another one in each response. The text is as long as the record's JSON, or
 * 4 characters longer per array. Text and digest of 1,000 records take 2.8 ms; with JSON.stringify alone, 1.5 ms.
 */
export function identityText({ identity, raw }: Pick<ListItem, 'raw'> & Partial<ListItem>): string {
  return JSON.stringify(sortMembers(identity ?? raw));
}

/** An object becomes a list of names and values, by name; a list becomes a pair that no object can become. */
function sortMembers(value: unknown): unknown {
  if (Array.isArray(value)) return [0, value.map(sortMembers)];
  if (!isObject(value)) return value;
  const members: unknown[] = [];
  for (const name of Object.keys(value).sort()) members.push(name, sortMembers(value[name]));
  return members;
}
