import { setTimeout as wait } from 'node:timers/promises';
import { AggregatorRegistry, Registry } from 'prom-client';
import type { Metrics, Snapshot } from './metrics.ts';

/** The metrics of several processes as one. */
export type MetricsTotal = Pick<Metrics, 'text' | 'contentType'> & {
  /** Takes in a process by what reads its metrics. What is given back lets it go; what it counted stays in the sums. */
  add(read: () => Promise<Snapshot>): () => void;
};

/** How long a process is waited for; then what it said last stands for it. */
const TIMEOUT_MS = 1000;

/** Sums, and what is said at once of the processes that are there: of a gauge nothing stays. */
export function createMetricsTotal(): MetricsTotal {
  const processes = new Map<() => Promise<Snapshot>, Snapshot>();
  let past: Snapshot = [];

  const refresh = async (read: () => Promise<Snapshot>) => {
    const snapshot = await Promise.race([read(), wait(TIMEOUT_MS, undefined, { ref: false })]);
    if (snapshot !== undefined && processes.has(read)) processes.set(read, snapshot);
  };

  return {
    add: (read) => {
      processes.set(read, []);
      return () => {
        // A counter that goes back is taken for one that began anew, and all of it is counted twice.
        const counted = (processes.get(read) ?? []).filter(({ type }) => String(type) !== 'gauge');
        past = toSnapshot(AggregatorRegistry.aggregate([past, counted]));
        processes.delete(read);
      };
    },
    text: async () => {
      await Promise.all([...processes.keys()].map(refresh));
      return AggregatorRegistry.aggregate([past, ...processes.values()]).metrics();
    },
    contentType: Registry.PROMETHEUS_CONTENT_TYPE,
  };
}

/** Like `getMetricsAsJSON`, which would only be done later. */
function toSnapshot(registry: Registry): Snapshot {
  return registry.getMetricsAsArray() as Snapshot; // what `aggregate` registers are its results, with their values
}
