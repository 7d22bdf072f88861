import { once } from 'node:events';
import { LOAD_CORE, start } from './processes.ts';

/** The stub of the service, in a process of its own. */
export type Service = AsyncDisposable & {
  /** The base URL of the service whose trail has this number of records. */
  url(records: number): string;
};

/** Starts it. */
export async function startService(): Promise<Service> {
  const stub = { file: process.execPath, args: ['stub.ts'], environment: {} };
  const { child, [Symbol.asyncDispose]: dispose } = start(stub, LOAD_CORE, [
    'ignore',
    'pipe',
    'inherit',
  ]);
  if (child.stdout === null) throw new Error('the stub has no output');
  const [line] = await once(child.stdout, 'data');
  const ports: Readonly<Record<number, number>> = JSON.parse(line);
  return {
    url: (records) => `http://127.0.0.1:${ports[records]}`,
    [Symbol.asyncDispose]: dispose,
  };
}
