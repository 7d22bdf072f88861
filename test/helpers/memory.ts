import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFile, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** Memory of a process, in bytes. */
export type Memory = {
  /** Heap and external buffers after a garbage collection. */
  readonly alive: number;
  /** The peak resident set size. */
  readonly peak: number;
};

/** A gateway in its own process, whose memory can be measured. */
export type MeasuredGateway = AsyncDisposable & {
  /** The GraphQL endpoint. */
  readonly url: string;
  measure(): Promise<Memory>;
  /** A heap snapshot after a garbage collection: strings up to 1,024 characters, no external buffers. */
  snapshot(): Promise<string>;
};

/** Starts it in front of a service, with default limits. Disposing it kills it. */
export async function startMeasuredGateway(serviceUrl: string): Promise<MeasuredGateway> {
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
