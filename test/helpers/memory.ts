import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** Memory of a process, in bytes. */
export type Memory = {
  /** What is alive after a collection: objects, and buffers outside the heap. */
  readonly alive: number;
  /** The most that the process ever had. */
  readonly peak: number;
};

/** A gateway in a process of its own, whose memory can be measured. */
export type Measured = AsyncDisposable & {
  /** Where GraphQL is. */
  readonly url: string;
  measure(): Promise<Memory>;
  /** What is alive in the heap after a collection, with the texts in it up to 1,024 characters each; buffers are outside. */
  snapshot(): Promise<string>;
};

/** Starts it over a service, with the limits that it has by itself. Disposing it kills it. */
export async function startMeasured(serviceUrl: string): Promise<Measured> {
  const file = fileURLToPath(new URL('memory-process.ts', import.meta.url));
  const child = fork(file, [serviceUrl], { execArgv: ['--expose-gc'] });
  const url: string = await message(child);
  return {
    url,
    measure: async () => {
      child.send('measure');
      return message<Memory>(child);
    },
    snapshot: async () => {
      child.send('snapshot');
      const file = await message<string>(child);
      const written = await readFile(file, 'utf8');
      await rm(file);
      return written;
    },
    [Symbol.asyncDispose]: async () => {
      const closed = once(child, 'close');
      child.kill('SIGKILL');
      await closed;
    },
  };
}

async function message<T>(child: ChildProcess): Promise<T> {
  const [value] = await once(child, 'message');
  return value;
}
