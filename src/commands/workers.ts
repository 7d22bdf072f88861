import { createLoginCounter } from '../login-counter.ts';
import { listen } from '../server.ts';
import { connect } from './channel.ts';
import type { Host } from './host.ts';
import { createLog } from './log.ts';
import type { Serving, Task } from './serving.ts';
import { supervise } from './supervise.ts';
import type { WorkerCalls } from './worker.ts';

/** Prepares to serve in several processes that share the port. This one starts them, and counts for all of them. */
export async function prepare(host: Host, task: Task): Promise<Serving> {
  const { HOST, PORT, WORKERS, METRICS_PORT, LOGIN_RATE_LIMIT } = task.config;
  const metrics =
    METRICS_PORT === undefined
      ? undefined
      : (await import('../metrics-total.ts')).createMetricsTotal();
  const countLogin = createLoginCounter(LOGIN_RATE_LIMIT);
  return {
    metrics,
    run: async (onListening) => {
      const { url, port } = await tryAddress(HOST, PORT);
      const shared: Task = { ...task, config: { ...task.config, PORT: port } };
      const { startWorker } = await host.openCluster();
      return await supervise(host, {
        workers: WORKERS,
        fuseMs: task.config.SHUTDOWN_FUSE_MS,
        log: await createLog(host, task.config),
        start: (leave) => {
          const worker = startWorker();
          const ask = connect<WorkerCalls>(worker, { countLogin, leave });
          const letGo = metrics?.add(() => ask('readMetrics'));
          void worker.ended.then(letGo);
          return { ...worker, listening: ask('serve', shared) };
        },
        onListening: () => onListening(url),
      });
    },
  };
}

/**
 * Listens for a moment, before there are workers: what is wrong with the address is then told once, and the one that
 * takes the place of another gets the port that the first were given.
 */
async function tryAddress(host: string, port: number) {
  const draining = new AbortController();
  const options = { host, port, draining, drainMs: 0, fuseMs: 0 };
  await using server = await listen({ handle: async () => {} }, options);
  return { url: server.url, port: server.port };
}
