import { LARGE_TRAILS } from './loads.ts';
import { measure } from './measure.ts';
import type { Peer } from './peers.ts';
import type { LargeTrail } from './results.ts';
import type { Service } from './service.ts';

/** How large trails are measured. */
export type LargeTrailOptions = {
  readonly peer: Peer;
  readonly service: Service;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly say: (line: string) => void;
};

/**
 * Measures the CPU time of `first: 50` over trails of 100 to 100,000 records. It should not depend on the length.
 * @throws Error that says why it could not be measured.
 */
export async function measureLargeTrails({
  peer,
  service,
  rounds,
  say,
  ...times
}: LargeTrailOptions): Promise<readonly LargeTrail[]> {
  const measured: LargeTrail[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const records of LARGE_TRAILS) {
      const title = `first 50 of ${records}`;
      const load = { name: 'window', title, records, first: 50 } as const;
      const upstreamUrl = service.url(records);
      const { cpuMicros } = await measure({ ...times, peer, load, upstreamUrl });
      measured.push({ round, records, cpuMicros });
      say(`round ${round} of ${rounds}, ${title}: ${Math.round(cpuMicros)} µs CPU a request`);
    }
  }
  return measured;
}
