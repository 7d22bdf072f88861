import fs, { readlinkSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

/** What fails of the files of a folder. */
export type DiskFailure = {
  /** `sync` is `fsync` and `fdatasync`. */
  readonly call: 'rename' | 'sync' | 'unlink';
  readonly code: string;
  /** A part of the paths that fail. */
  readonly at: string;
  /** How often it fails. */
  readonly times: number;
};

const failures = new Set<{ -readonly [Name in keyof DiskFailure]: DiskFailure[Name] }>();

/**
 * Lets calls of the file system fail in this process, on Linux. In another one, by `NODE_OPTIONS` with `--import` of this
 * file, and the failure as JSON in `FAILING_DISK`.
 */
export function failDisk(failure: DiskFailure): Disposable {
  const own = { ...failure };
  failures.add(own);
  return { [Symbol.dispose]: () => void failures.delete(own) };
}

function check(call: DiskFailure['call'], syscall: string, file: unknown): void {
  const path = typeof file === 'number' ? readlinkSync(`/proc/self/fd/${file}`) : String(file);
  for (const failure of failures) {
    if (failure.call !== call || !path.includes(failure.at) || failure.times === 0) continue;
    failure.times -= 1;
    const { code } = failure;
    throw Object.assign(new Error(`${code}: injected, ${syscall}`), { code, syscall, errno: -1 });
  }
}

/** Replaces a function of an object by one that may fail. */
function guard(
  owner: object,
  name: string,
  call: DiskFailure['call'],
  toFile: (self: { readonly fd: number }, args: readonly unknown[]) => unknown,
): void {
  const original = Reflect.get(owner, name);
  const syscall = name.replace('Sync', '');
  const isAsync = !name.endsWith('Sync');
  Reflect.set(owner, name, function (this: { readonly fd: number }, ...args: readonly unknown[]) {
    try {
      check(call, syscall, toFile(this, args));
    } catch (error) {
      if (isAsync) return Promise.reject(error);
      throw error;
    }
    return Reflect.apply(original, this, args);
  });
}

const handle = await open(import.meta.filename);
const prototype = Object.getPrototypeOf(handle);
await handle.close();
const first = (_: unknown, [file]: readonly unknown[]) => file;
const last = (_: unknown, [, file]: readonly unknown[]) => file;
for (const owner of [fs, fs.promises])
  for (const [name, call, toFile] of [
    ['rename', 'rename', last],
    ['renameSync', 'rename', last],
    ['rm', 'unlink', first],
    ['rmSync', 'unlink', first],
    ['fsyncSync', 'sync', first],
    ['fdatasyncSync', 'sync', first],
  ] as const)
    if (Reflect.has(owner, name) && (owner === fs.promises || name.endsWith('Sync')))
      guard(owner, name, call, toFile);
for (const name of ['sync', 'datasync']) guard(prototype, name, 'sync', ({ fd }) => fd);
syncBuiltinESMExports();
if (process.env['FAILING_DISK']) failDisk(JSON.parse(process.env['FAILING_DISK']));
