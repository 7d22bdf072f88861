import type { DeepPartial } from '../mapping/contract.ts';
import { isObject } from '../mapping/values.ts';

/** Fills the missing entries of a configured contract from an inferred one. A configured null is kept, and a format. */
export function fillGaps<T>(configured: DeepPartial<T> | undefined, inferred: T): T {
  return merge(configured, inferred) as T; // each missing entry comes from `inferred`, so the result is complete
}

function merge(configured: unknown, inferred: unknown): unknown {
  if (configured === undefined) return inferred;
  if (!isObject(configured) || !isObject(inferred) || 'at' in configured) return configured;
  const keys = Object.keys({ ...inferred, ...configured });
  return Object.fromEntries(keys.map((key) => [key, merge(configured[key], inferred[key])]));
}
