import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { createCgroup } from './cgroup.ts';
import { keytrail, ROOT } from './peers.ts';
import { type Command, PEER_CORE, start } from './processes.ts';

/** The memory that deploy/kubernetes.yaml grants the container, in bytes. */
export function readMemoryLimit(): number {
  const manifest = readFileSync(`${ROOT}deploy/kubernetes.yaml`, 'utf8');
  const [, mebibytes] = /^ *limits: \{.*\bmemory: (\d+)Mi\b/m.exec(manifest) ?? [];
  if (mebibytes === undefined) throw new Error('deploy/kubernetes.yaml limits no memory in Mi.');
  return Number(mebibytes) * 2 ** 20;
}

/** The largest resident memory that a process has had, in bytes; NaN once it has exited. */
export function readPeakBytes(pid: number | undefined): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  } catch {
    return Number.NaN;
  }
}

/** Lets {@link readPeakBytes} begin again. */
export function resetPeak(pid: number | undefined): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

const START_MS = 30_000;

/** Keytrail as its image runs it. Disposing it kills it. */
export type Image = Awaited<ReturnType<typeof startImage>>;

/** Builds what {@link startImage} starts. */
export async function buildImage(): Promise<void> {
  await keytrail('keytrail', 'Keytrail', ROOT).prepare?.();
}

/**
 * Starts the image's command on the core of the peer, in a control group with the memory of the container. Without the
 * right to create one, only the caller can compare {@link readPeakBytes} with the limit.
 */
export async function startImage(
  serviceUrl: string,
  environment: Readonly<Record<string, string>> = {},
) {
  const cgroup = createCgroup(readMemoryLimit());
  const command = keytrail('keytrail', 'Keytrail', ROOT).command('0', serviceUrl);
  const entered = cgroup === null ? command : enter(cgroup.processes, command);
  const gateway = start(
    { ...entered, environment: { ...command.environment, ...environment } },
    PEER_CORE,
  );
  const { child } = gateway;
  let log = '';
  gateway.stdout.on('data', (chunk) => (log += chunk));
  const [, url = '', metrics = ''] = await untilMatch(
    () => /"url":"(\S+?)","metrics":"(\S+?)","msg":"listening"/.exec(log),
    START_MS,
  );
  return {
    ...gateway,
    cgroup,
    /** The GraphQL endpoint. */
    url,
    /** How often the circuit breaker opened. */
    circuitOpened: () => log.match(/circuit breaker open/g)?.length ?? 0,
    /** The signal that ended the process, or its status; null while it runs. */
    exit: () => child.signalCode ?? child.exitCode,
    peakBytes: () => readPeakBytes(child.pid),
    resetPeak: () => resetPeak(child.pid),
    /** The longest iteration of the event loop since the last call, in milliseconds; NaN once it has exited. */
    longestTickMs: async () => {
      const text = await fetch(metrics, { signal: AbortSignal.timeout(START_MS) })
        .then((response) => response.text())
        .catch(() => '');
      return Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1]) * 1000;
    },
    [Symbol.asyncDispose]: async () => {
      await gateway[Symbol.asyncDispose]();
      cgroup?.[Symbol.dispose]();
    },
  };
}

/** The memory in bytes that Node finds available in such a group; null without the right to create one. */
export function readConstrainedMemory(): number | null {
  using cgroup = createCgroup(readMemoryLimit());
  if (cgroup === null) return null;
  const print = { file: process.execPath, args: ['-p', 'process.constrainedMemory()'] };
  const { file, args } = enter(cgroup.processes, print);
  return Number(execFileSync(file, args));
}

/** The command, in a control group: a shell enters it and becomes the program. */
function enter(processes: string, { file, args }: Command): Command {
  return { file: 'sh', args: ['-c', 'echo $$ > "$0" && exec "$@"', processes, file, ...args] };
}

async function untilMatch(match: () => RegExpExecArray | null, ms: number) {
  const deadline = performance.now() + ms;
  for (;;) {
    const found = match();
    if (found !== null) return found;
    if (performance.now() > deadline) throw new Error('Keytrail did not start.');
    await wait(10);
  }
}
