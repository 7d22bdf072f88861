import { setTimeout as wait } from 'node:timers/promises';
import type { GatewayLog } from '../gateway-types.ts';
import { type Host, untilStopped, type WorkerProcess } from './host.ts';

/** Which workers to keep running, and how. */
export type Supervision = {
  /** How many. */
  readonly workers: number;
  /** Starts one. It calls back when that one stops serving by itself, before it has ended. */
  readonly start: (onLeaving: () => void) => Worker;
  /** Called once, when all of them listen. */
  readonly onListening: () => void;
  readonly log: GatewayLog;
  /** After how many milliseconds those that are asked to stop should have cut off whatever is left. */
  readonly fuseMs: number;
};

type Worker = Pick<WorkerProcess, 'kill' | 'ended'> & {
  /** Resolves when it listens; stays open when it never does. */
  readonly listening: Promise<void>;
};

const LOSSES_MS = 60_000;
/** So many more than there are workers may be lost in that time: each once, and some that were started in haste. */
const SPARE_LOSSES = 4;
/** When there is no room for one more process just now, there may be soon. */
const RETRY_MS = 1000;
/** A worker that hangs cannot light its own fuse. */
const HANGING_MS = 1000;

/**
 * Runs workers until this process is asked to stop, and replaces each that is lost; all stop when they are lost too
 * fast. Gives the exit status when the last has ended.
 */
export async function supervise(host: Host, options: Supervision): Promise<number> {
  const running = new Set<Worker>();
  const end = Promise.withResolvers<string | null>(); // what is wrong, or null
  let losses: readonly number[] = [];
  let isUp = false;
  let isStopping = false;

  const replaceOne = () => {
    const now = host.clock();
    losses = [...losses.filter((at) => at > now - LOSSES_MS), now];
    if (!isUp) end.resolve('cannot start: a worker ended before all of them listened.');
    else if (losses.length > options.workers + SPARE_LOSSES) end.resolve(describeLosses(losses));
    else startOne();
  };

  const startOne = () => {
    let isLost = false;
    const lose = () => {
      if (isLost || isStopping) return;
      isLost = true;
      replaceOne();
    };
    const worker = options.start(lose);
    running.add(worker);
    void worker.ended.then(async (how) => {
      running.delete(worker);
      const isOrderly = 'exitCode' in how && how.exitCode === 0;
      if (!isStopping) options.log[isOrderly ? 'warn' : 'error'](how, 'a worker ended');
      if ('failure' in how) await wait(RETRY_MS);
      lose();
    });
    return worker.listening;
  };

  const kill = (signal: 'SIGTERM' | 'SIGKILL') => {
    for (const worker of running) worker.kill(signal);
  };

  void untilStopped(host).then(() => end.resolve(null));
  void Promise.all(Array.from({ length: options.workers }, startOne)).then(() => {
    if (isStopping) return;
    isUp = true;
    options.onListening();
  });
  const problem = await end.promise;
  isStopping = true;
  if (problem !== null) host.stderr.write(`keytrail: ${problem}\n`);
  kill('SIGTERM');
  setTimeout(() => kill('SIGKILL'), options.fuseMs + HANGING_MS).unref();
  await Promise.all([...running].map(({ ended }) => ended));
  return problem === null ? 0 : 1;
}

function describeLosses({ length }: readonly number[]): string {
  return `stopping: ${length} workers ended within a minute. The log says how, and the lines above may say why; where it was SIGKILL, memory may be short, and fewer WORKERS need less.`;
}
