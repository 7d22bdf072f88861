import type { Tracer } from '@opentelemetry/api';
import type { Environment } from '../config/load.ts';

/** The process, as the commands see it: all that they take from the world comes through here. */
export type Runtime = {
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
};

/** Waits until the process is asked to stop. */
export function untilStopped({ stopping }: Runtime): Promise<void> {
  return new Promise((resolve) => {
    if (stopping.aborted) resolve();
    else stopping.addEventListener('abort', () => resolve(), { once: true });
  });
}
