import type { Runtime } from './runtime.ts';

/** Bytes of the log that may wait for the process that reads it. */
const MAX_QUEUED_BYTES = 2 ** 23;

/** Writes lines. They are a function, so that lines that are dropped are never formatted. */
export type WriteLines = (count: number, format: () => string) => void;

/**
 * Creates a function that writes lines to an output, and drops them while more than 8 MB wait there: the process that
 * reads it has stopped, and the memory of this one must not grow. The next lines follow `describeDropped`.
 */
export function createBoundedOutput(
  stdout: Runtime['stdout'],
  describeDropped: (count: number) => string,
): WriteLines {
  let dropped = 0;
  return (count, format) => {
    if ((stdout.writableLength ?? 0) > MAX_QUEUED_BYTES) {
      dropped += count;
      return;
    }
    const notice = dropped > 0 ? describeDropped(dropped) : '';
    dropped = 0;
    const text = notice + format();
    if (text !== '') stdout.write(text);
  };
}
