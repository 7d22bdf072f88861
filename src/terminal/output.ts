import { closeSync, fdatasyncSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';
import { WITHOUT_FSYNC } from '../client/busy-file.ts';
import { LocalFailure } from './local-failure.ts';

/** Where a command writes its data: events, and nothing else. */
export type Output = {
  /**
   * Writes a text. Resolves once the system has it, in a regular file also after a loss of power.
   * @throws Node's error: EPIPE if the reader has gone, ENOSPC if the disk is full.
   */
  readonly write: (text: string) => Promise<void>;
  /** Whether this is a terminal. */
  readonly isTerminal: boolean;
  /** Columns of the terminal. */
  readonly columns: number;
  /** Whether it has colours, as the type of the terminal and NO_COLOR say. */
  readonly hasColors: boolean;
  /** Whether it is a regular file that has a content already, and how that ends. */
  readonly before: 'nothing' | 'whole lines' | 'a part of a line';
};

type Stream = {
  write(text: string, done: (error?: Error | null) => void): unknown;
  readonly fd: number;
  readonly isTTY?: boolean;
  readonly columns?: number;
  hasColors?(): boolean;
};

/** Columns where there is no terminal. */
const COLUMNS = 100;

/** Opens the output on a stream of the process. Node ignores that a full disk takes a part of a text: files are written here. */
export function openOutput(stream: Stream): Output {
  const stats = fstatSync(stream.fd);
  return {
    write: stats.isFile()
      ? async (text) => writeWhole(stream.fd, Buffer.from(text))
      : (text) =>
          new Promise((resolve, reject) => {
            stream.write(text, (error) => (error ? reject(error) : resolve()));
          }),
    isTerminal: stream.isTTY === true,
    columns: stream.columns || COLUMNS, // 0 if nobody has set a size
    hasColors: stream.hasColors?.() ?? false,
    before: !stats.isFile() || stats.size === 0 ? 'nothing' : describeEnd(stream.fd, stats.size),
  };
}

function writeWhole(fd: number, bytes: Buffer): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(fd, bytes, written);
  try {
    fdatasyncSync(fd);
  } catch (error) {
    if (!WITHOUT_FSYNC.includes(Object(error).code)) throw error;
  }
}

/**
 * Writes what a command prints as a whole. A reader that has gone needs no more, as `head` does.
 * @throws LocalFailure for any other error of the output.
 */
export async function print(
  { openOutput: open }: { readonly openOutput: () => Output },
  text: string,
): Promise<void> {
  try {
    await open().write(text);
  } catch (error) {
    const { code, syscall } = Object(error);
    if (code === 'EPIPE') return;
    if (typeof syscall !== 'string') throw error;
    throw new LocalFailure(
      `The output could not be written (${code}): what was written is a part. Free space on its disk, or choose another place.`,
    );
  }
}

/** The shell opens the file for writing only. Where it cannot be opened again for reading, a line may have been cut off. */
function describeEnd(fd: number, size: number): Output['before'] {
  try {
    const file = openSync(`/proc/self/fd/${fd}`, 'r');
    try {
      const last = Buffer.alloc(1);
      readSync(file, last, 0, 1, size - 1);
      return last.toString() === '\n' ? 'whole lines' : 'a part of a line';
    } finally {
      closeSync(file);
    }
  } catch {
    return 'a part of a line';
  }
}
