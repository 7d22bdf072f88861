import { LOADS, type Load } from './loads.ts';
import { measure } from './measure.ts';
import { hasWorkers, PEERS } from './peers.ts';
import type { WorkerRound } from './results.ts';
import type { Service } from './service.ts';

/** How workers are measured. */
export type WorkerOptions = {
  readonly ports: Service['ports'];
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly say: (line: string) => void;
};

/**
 * Measures one process and two, of L0 and of Keytrail, free to run on both cores. The service and the load take their
 * share of them, so L0 tells how far two processes can get here.
 */
export async function measureWorkers(
  options: WorkerOptions,
): Promise<readonly WorkerRound[] | string> {
  if (!hasWorkers()) return 'Keytrail has no setting WORKERS';
  const rounds: WorkerRound[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const load of LOADS.filter(({ name }) => name === 'small' || name === 'thousand')) {
      const of = async (peer: string) =>
        [await rateOf(peer, load, 1, options), await rateOf(peer, load, 2, options)] as const;
      rounds.push({ load: load.name, l0: await of('l0'), keytrail: await of('keytrail') });
    }
  }
  return rounds;
}

async function rateOf(
  name: string,
  load: Load,
  processes: number,
  { ports, seconds, warmUpSeconds, say }: WorkerOptions,
): Promise<number> {
  const peer = PEERS.find((one) => one.name === name);
  if (peer === undefined) throw new RangeError(`there is no ${name}`);
  const { requestsPerSecond } = await measure({
    peer,
    load,
    upstreamUrl: `http://127.0.0.1:${ports[load.name]}`,
    seconds,
    warmUpSeconds,
    cores: '0,1',
    processes,
    environment: { WORKERS: String(processes) },
  });
  say(`${load.name}, ${name}, ${processes} on both cores: ${Math.round(requestsPerSecond)}/s`);
  return requestsPerSecond;
}
