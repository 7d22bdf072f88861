import type { LoginCounter } from '../login-counter.ts';
import type { Metrics, Snapshot } from '../metrics.ts';
import { connect } from './channel.ts';
import type { Channel, Host } from './host.ts';
import { serveHere, type Task } from './serving.ts';

/** What the primary asks of a worker. */
export type WorkerCalls = {
  /** Serve; answered when it listens. */
  readonly serve: (task: Task) => Promise<void>;
  readonly readMetrics: () => Promise<Snapshot>;
};

/** What a worker asks of its primary. */
export type PrimaryCalls = {
  readonly countLogin: LoginCounter;
  /** It stops serving, though it still finishes what is under way: it can be replaced. */
  readonly leave: () => void;
};

/**
 * Serves what the primary says until this process is asked to stop, and gives the exit status.
 * @throws what Node says when the port cannot be had.
 */
export async function work(host: Host, primary: Channel): Promise<number> {
  const task = Promise.withResolvers<Task>();
  const listening = Promise.withResolvers<void>();
  let metrics: Metrics | undefined;
  const calls: WorkerCalls = {
    serve: (given) => {
      task.resolve(given);
      return listening.promise;
    },
    readMetrics: async () => (await metrics?.snapshot()) ?? [],
  };
  const ask = connect<PrimaryCalls>(primary, calls);
  host.stopping.addEventListener('abort', () => void ask('leave'));

  const given = await task.promise;
  if (given.config.METRICS_PORT !== undefined)
    metrics = (await import('../metrics.ts')).createMetrics();
  await serveHere(host, given, {
    observer: metrics?.observer,
    countLogin: (keys) => ask('countLogin', keys),
    onListening: () => listening.resolve(),
  });
  return 0;
}
