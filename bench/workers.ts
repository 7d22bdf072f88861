import { LOADS } from './loads.ts';
import { measure } from './measure.ts';
import { hasWorkers, PEERS } from './peers.ts';
import type { WorkerRound } from './results.ts';

/** How workers are measured. */
export type WorkerOptions = {
  readonly port: number;
  readonly rounds: number;
  readonly seconds: number;
  readonly warmUpSeconds: number;
  readonly say: (line: string) => void;
};

/**
 * Measures one process and two, of L0 and of Keytrail, free to run on both cores, under the small load. The service
 * and the load take their share of one of them, so L0 tells how far two processes can get here.
 */
export async function measureWorkers(
  options: WorkerOptions,
): Promise<readonly WorkerRound[] | string> {
  if (!hasWorkers()) return 'Keytrail has no setting WORKERS';
  const rounds: WorkerRound[] = [];
  for (let round = 1; round <= options.rounds; round += 1) {
    const of = async (peer: string) =>
      [await rateOf(peer, '1', options), await rateOf(peer, '2', options)] as const;
    rounds.push({ l0: await of('l0'), keytrail: await of('keytrail') });
  }
  return rounds;
}

async function rateOf(
  name: string,
  workers: string,
  { port, seconds, warmUpSeconds, say }: WorkerOptions,
): Promise<number> {
  const peer = PEERS.find((one) => one.name === name);
  const load = LOADS.find((one) => one.name === 'small');
  if (peer === undefined || load === undefined) throw new RangeError(`there is no ${name}`);
  const { requestsPerSecond } = await measure({
    peer,
    load,
    upstreamUrl: `http://127.0.0.1:${port}`,
    seconds,
    warmUpSeconds,
    cores: '0,1',
    environment: { WORKERS: workers },
  });
  say(`${name}, ${workers} on both cores: ${Math.round(requestsPerSecond)}/s`);
  return requestsPerSecond;
}
