import { mkdtempSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

/** A control group that limits the memory of a process, as that of a container does. Disposing it removes it. */
export type Cgroup = Disposable & {
  /** The file to which a process writes its id to enter the group. */
  readonly processes: string;
  /** The most memory that the group has used, with buffers of the kernel and cached files; in bytes. */
  readonly peakBytes: () => number;
  /** How often the limit was reached. The kernel kills only if it cannot free memory then. */
  readonly reached: () => number;
  /** How many processes the kernel has killed at the limit. */
  readonly killed: () => number;
};

/** The files of cgroup v1 and v2, with the limits in order: swap counts as memory, or there is none. */
const VERSIONS = [
  {
    parent: '/sys/fs/cgroup/memory',
    limit: 'memory.limit_in_bytes',
    swap: { file: 'memory.memsw.limit_in_bytes', of: (limit: number) => limit },
    peak: 'memory.max_usage_in_bytes',
    reached: { file: 'memory.failcnt', pattern: /(\d+)/ },
    killed: { file: 'memory.oom_control', pattern: /^oom_kill (\d+)$/m },
  },
  {
    parent: '/sys/fs/cgroup',
    limit: 'memory.max',
    swap: { file: 'memory.swap.max', of: () => 0 },
    peak: 'memory.peak',
    reached: { file: 'memory.events', pattern: /^max (\d+)$/m },
    killed: { file: 'memory.events', pattern: /^oom_kill (\d+)$/m },
  },
] as const;

/** Creates a group with a limit in bytes; null if this process may not, or if the kernel does not control memory. */
export function createCgroup(limitBytes: number): Cgroup | null {
  for (const version of VERSIONS) {
    const folder = attempt(() => mkdtempSync(`${version.parent}/keytrail-bench-`));
    if (folder === undefined) continue;
    const write = (file: string, bytes: number) =>
      writeFileSync(`${folder}/${file}`, String(bytes), { flag: 'r+' });
    const isLimited = attempt(() => {
      write(version.limit, limitBytes);
      return true;
    });
    if (isLimited === undefined) {
      rmdirSync(folder);
      continue;
    }
    attempt(() => write(version.swap.file, version.swap.of(limitBytes))); // absent on a machine without swap
    const read = (file: string, pattern = /(\d+)/) =>
      Number(attempt(() => pattern.exec(readFileSync(`${folder}/${file}`, 'utf8'))?.[1]));
    return {
      processes: `${folder}/cgroup.procs`,
      peakBytes: () => read(version.peak),
      reached: () => read(version.reached.file, version.reached.pattern),
      killed: () => read(version.killed.file, version.killed.pattern),
      [Symbol.dispose]: () => rmdirSync(folder),
    };
  }
  return null;
}

function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
