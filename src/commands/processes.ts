import type { ChildProcess } from 'node:child_process';
import type { Cluster } from 'node:cluster';
import type { Channel, Host, WorkerProcess } from './host.ts';

/** The channel to the process at the other end, which may be gone. */
export function toChannel(end: NodeJS.Process | ChildProcess): Channel {
  return {
    // Without a callback Node throws what goes wrong.
    send: (message) => void end.send?.(message, undefined, undefined, () => {}),
    onMessage: (listener) => void end.on('message', listener),
  };
}

/** Starts workers by a cluster of Node's, with some variables more than this process has. */
export function toCluster(
  cluster: Cluster,
  environment: Readonly<Record<string, string>>,
): Awaited<ReturnType<Host['openCluster']>> & { killAll(): void } {
  return {
    startWorker: () => {
      const worker = cluster.fork(environment);
      const ended: WorkerProcess['ended'] = new Promise((resolve) => {
        worker.on('exit', (exitCode, signal) => resolve(signal ? { signal } : { exitCode }));
        worker.on('error', (error) => resolve({ failure: Object(error).code }));
      });
      return { ...toChannel(worker.process), kill: (signal) => worker.kill(signal), ended };
    },
    killAll: () => {
      for (const worker of Object.values(cluster.workers ?? {})) worker?.kill('SIGKILL');
    },
  };
}
