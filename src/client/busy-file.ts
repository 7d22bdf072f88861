/** Codes of a file system that has no `fsync`: it cannot do more for what is written. */
export const WITHOUT_FSYNC: readonly unknown[] = ['EINVAL', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP'];

/** Codes of a file that another program has open: on Windows, virus scanners and backups open each new file. */
const BUSY: readonly unknown[] = ['EBUSY', 'EPERM', 'EACCES'];

/**
 * Moves or removes a file, which may be busy: repeats that for 2 s.
 * @throws what the last repetition has thrown.
 */
export async function repeatWhileBusy(change: () => unknown): Promise<void> {
  for (let ms = 16; ; ms *= 2) {
    try {
      await change();
      return;
    } catch (error) {
      if (ms > 1024 || !BUSY.includes(Object(error).code)) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, ms));
  }
}
