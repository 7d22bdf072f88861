import type { Tracer } from '@opentelemetry/api';
import type { RunningProcess } from '../../util/running-process.ts';

/** What `keytrail serve` uses of the process and the system. */
export type ServerProcess = RunningProcess & {
  readonly stdout: {
    readonly isTTY?: boolean;
    /** Bytes that wait to be written. */
    readonly writableLength?: number;
    /** Whether a terminal has colours, as its type and NO_COLOR in the environment say. */
    hasColors?(environment: RunningProcess['environment']): boolean;
  };
  /** A monotonic clock in milliseconds. */
  readonly clock: () => number;
  /** A random number from 0 up to, but not including, 1. Not for secrets. */
  readonly random: () => number;
  /** Loads OpenTelemetry's SDK, which reads the environment itself. Rejects if it is not installed. */
  readonly loadSdk: () => Promise<Pick<typeof import('@opentelemetry/sdk-node'), 'NodeSDK'>>;
  /** Returns what creates spans. They are recorded only if the process has an SDK by then. */
  readonly getTracer: () => Tracer;
  /** The memory that the process may use, in bytes; 0 or a huge number without a limit. */
  readonly memoryBytes: number;
};
