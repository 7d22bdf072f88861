import type { Partially } from '../reading/contract.ts';
import { isObject } from '../reading/names.ts';

/** Fills the gaps of a configured contract from an inferred one. */
export function complete<T>(configured: Partially<T> | undefined, inferred: T): T {
  return merge(configured, inferred) as T; // every gap of the one is filled from the other
}

function merge(configured: unknown, inferred: unknown): unknown {
  if (configured === undefined) return inferred;
  if (!isObject(configured) || !isObject(inferred)) return configured;
  const names = Object.keys({ ...inferred, ...configured });
  return Object.fromEntries(names.map((name) => [name, merge(configured[name], inferred[name])]));
}
