import type { DeepPartial } from '../mapping/contract.ts';
import { isObject } from '../mapping/tokenize-key.ts';

/** Fills the gaps of a configured contract from an inferred one. */
export function fillGaps<T>(configured: DeepPartial<T> | undefined, inferred: T): T {
  return merge(configured, inferred) as T; // every gap of the one is filled from the other
}

function merge(configured: unknown, inferred: unknown): unknown {
  if (configured === undefined) return inferred;
  if (!isObject(configured) || !isObject(inferred)) return configured;
  const names = Object.keys({ ...inferred, ...configured });
  return Object.fromEntries(names.map((name) => [name, merge(configured[name], inferred[name])]));
}
