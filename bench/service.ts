import { once } from 'node:events';
import type { LoadName } from './loads.ts';
import { LOAD_CORE, start } from './processes.ts';

/** The stub of the service, in a process of its own. */
export type Service = AsyncDisposable & {
  /** On which port it serves the trail of which load. */
  readonly ports: Readonly<Record<LoadName, number>>;
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
  return { ports: JSON.parse(line), [Symbol.asyncDispose]: dispose };
}
