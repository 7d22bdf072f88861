import {
  lstatSync,
  lutimesSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { hostname } from 'node:os';

/** What a lock knows of the process that takes it. */
export type LockingProcess = {
  readonly pid: number;
  /** Unique for each lock. */
  readonly id: string;
  readonly now: () => Date;
  /** Sends a signal; 0 only checks whether there is such a process. @throws Node's error: ESRCH if there is none. */
  readonly kill: (pid: number, signal: 0) => unknown;
};

/** Who has a lock. */
export type Holder = {
  readonly pid: number;
  /** When it took the lock. */
  readonly since: string;
  /** Whether it runs in another container or on another machine. */
  readonly isElsewhere: boolean;
  /** The file that is the lock. */
  readonly path: string;
};

/** A lock that this process has. Disposing it gives it back. */
export type HeldLock = Disposable & {
  /** Whether no other process has taken it over, as after this one stood still. */
  readonly isHeld: () => boolean;
};

/** The lock of another machine or container, whose processes are not seen, counts for this time after it was last renewed. */
const MAX_SILENCE_MS = 60_000;
const RENEWAL_MS = 10_000;

/** A file system without symbolic links, or Windows without the right to make one. */
const UNSUPPORTED: ReadonlySet<unknown> = new Set([
  ...['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP', 'ENAMETOOLONG'],
]);

/**
 * Takes the lock of a file, `<file>.run`, or says who has it. Node has no lock of the system, which would end with its
 * process. So the lock says which process has it: one that was killed has it no more.
 *
 * A lock is a symbolic link whose text is its content: it is there as a whole or not at all. It is taken over by creating
 * `<file>.run.<id of the dead lock>`, which one process alone can. That one replaces the dead lock by its own, if that is
 * still the one that was found dead. A process that is killed in between leaves another dead lock, which is taken over in
 * the same way.
 * @returns null if the path leads to anything but a regular file, `unsupported` if the file system has no such locks.
 * @throws Node's error if the lock cannot be created.
 */
export function lockFile(
  path: string,
  process: LockingProcess,
): HeldLock | Holder | 'unsupported' | null {
  const exists = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  if (exists && !isRegular(path)) return null;
  const lock = `${exists ? realpathSync(path) : path}.run`;
  const { pid, id, now } = process;
  const since = now().toISOString();
  const own = [pid, describeProcess(pid)?.start ?? '-', machine(), since, id].join(' ');
  const isAlive = (held: string, at: string): boolean => {
    const [number, start, where] = held.split(' ');
    if (where !== machine()) {
      const renewed = lstatSync(at, { throwIfNoEntry: false })?.mtimeMs ?? 0;
      return Math.abs(now().getTime() - renewed) < MAX_SILENCE_MS;
    }
    if (!isRunning(Number(number), process)) return false;
    const found = describeProcess(Number(number));
    return found === null || (found.start === start && !found.isZombie);
  };
  try {
    for (;;) {
      if (create(own, lock)) return hold(lock, own, now);
      const root = readLock(lock);
      let [held, at] = [root, lock];
      const passed: string[] = [];
      while (held !== null && !isAlive(held, at)) {
        const next = `${lock}.${held.split(' ')[4]}`;
        if (create(own, next)) {
          if (readLock(lock) === root) {
            renameSync(next, lock);
            for (const dead of passed) rmSync(dead, { force: true });
            return hold(lock, own, now);
          }
          rmSync(next, { force: true });
          held = null;
        } else {
          passed.push(next);
          [held, at] = [readLock(next), next];
        }
      }
      if (held === null) continue; // it was given back, or taken over: as from the start
      const [number, , where, taken = ''] = held.split(' ');
      return {
        ...{ pid: Number(number), since: taken, path: lock },
        isElsewhere: where !== machine(),
      };
    }
  } catch (error) {
    if (UNSUPPORTED.has(Object(error).code)) return 'unsupported';
    throw error;
  }
}

const isRegular = (path: string) => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

/** Returns false if there is one. */
function create(content: string, path: string): boolean {
  try {
    symlinkSync(content, path);
    return true;
  } catch (error) {
    if (Object(error).code === 'EEXIST') return false;
    throw error;
  }
}

/** Null if there is none. */
function readLock(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch (error) {
    if (Object(error).code === 'ENOENT') return null;
    throw error;
  }
}

function hold(lock: string, own: string, now: () => Date): HeldLock {
  const isHeld = () => readLock(lock) === own;
  const renew = () => {
    try {
      if (isHeld()) lutimesSync(lock, now(), now());
    } catch {} // whether it is held is asked again before each write
  };
  const timer = setInterval(renew, RENEWAL_MS);
  timer.unref();
  return {
    isHeld,
    [Symbol.dispose]: () => {
      clearInterval(timer);
      try {
        if (isHeld()) rmSync(lock, { force: true });
      } catch {} // it is dead with this process, and taken over
    },
  };
}

/** A process of another user refuses the signal. */
function isRunning(pid: number, { kill }: LockingProcess): boolean {
  try {
    kill(pid, 0);
    return true;
  } catch (error) {
    return Object(error).code !== 'ESRCH';
  }
}

/** When a process was started, in ticks after the start of the system, as Linux has it: numbers are used again. */
function describeProcess(pid: number) {
  const text = readText(`/proc/${pid}/stat`);
  const [state, ...fields] = text.slice(text.lastIndexOf(')') + 2).split(' '); // a name may have spaces
  const start = fields[18];
  return start === undefined ? null : { start, isZombie: state === 'Z' || state === 'X' };
}

/** Where numbers of processes mean the same: a start of a Linux and a namespace of it, or else a host. */
function machine(): string {
  const boot = readText('/proc/sys/kernel/random/boot_id').trim();
  try {
    if (boot !== '') return `${boot}/${readlinkSync('/proc/self/ns/pid')}`;
  } catch {}
  return encodeURIComponent(hostname());
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
