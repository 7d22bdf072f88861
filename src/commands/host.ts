import type { Tracer } from '@opentelemetry/api';
import type { Environment } from '../config.ts';

/** The process, as the commands see it: all that they take from the world comes through here. */
export type Host = {
  /** Without the program and the script. */
  readonly arguments: readonly string[];
  readonly environment: Environment;
  /** For what a program reads: logs, the schema. */
  readonly stdout: {
    write(text: string, onWritten?: () => void): unknown;
    readonly isTTY?: boolean;
  };
  /** For what people read: greetings and problems. */
  readonly stderr: { write(text: string): unknown };
  readonly version: string;
  /** The time of day. */
  readonly now: () => Date;
  /** Milliseconds from anywhere, never going back. */
  readonly clock: () => number;
  /** A number from 0 up to 1, which nobody needs to be surprised by. */
  readonly random: () => number;
  /** Makes a UUID. */
  readonly createId: () => string;
  /** Makes a text that nobody can guess. */
  readonly createToken: () => string;
  /** Makes spans, where the process has an SDK of OpenTelemetry. */
  readonly tracer: Tracer;
  /** Aborted when the process is asked to stop. */
  readonly stopping: AbortSignal;
  /** Leads to the process that started this one as a worker. */
  readonly primary: Channel | undefined;
  /** Gets ready to start workers: processes with the same arguments that share the ports they listen on. */
  readonly openCluster: () => Promise<{ startWorker(): WorkerProcess }>;
};

/** Leads to another process of this program. What cannot be delivered is lost. */
export type Channel = {
  /** Sends what JSON can carry. */
  send(message: object): void;
  /** Nothing is lost before the first listener is there. */
  onMessage(listener: (message: unknown) => void): void;
};

/** By an exit code, by a signal, or not started: the code of Node's error. */
export type WorkerEnd =
  | { readonly exitCode: number }
  | { readonly signal: string }
  | { readonly failure: string | undefined };

/** A worker, as the process that started it sees it. */
export type WorkerProcess = Channel & {
  kill(signal: 'SIGTERM' | 'SIGKILL'): void;
  readonly ended: Promise<WorkerEnd>;
};

/** Waits until the process is asked to stop. */
export function untilStopped({ stopping }: Host): Promise<void> {
  return new Promise((resolve) => {
    if (stopping.aborted) resolve();
    else stopping.addEventListener('abort', () => resolve(), { once: true });
  });
}
