import { once } from 'node:events';
import type { Tracer } from '@opentelemetry/api';
import type { Fetch } from '../client/request.ts';
import type { Environment } from '../config/load.ts';
import type { Output } from './output.ts';
import type { Input } from './prompt.ts';

/** What a command uses of the process and the system. Tests pass their own. */
export type Runtime = {
  /** The command line, without the executable and the script. */
  readonly arguments: readonly string[];
  readonly environment: Environment;
  /** Output for programs: log lines, the schema, a contract. */
  readonly stdout: {
    write(text: string): unknown;
    readonly isTTY?: boolean;
    /** Bytes that wait to be written. */
    readonly writableLength?: number;
    /** Whether a terminal has colours, as its type and NO_COLOR in the environment say. */
    hasColors?(environment: Environment): boolean;
  };
  /** Opens stdout for events. */
  readonly openOutput: () => Output;
  /** Output for people: the banner and error messages. */
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean };
  /** The secret of a login, and what is typed at a prompt. */
  readonly stdin: Input;
  /** Requests to a running gateway. */
  readonly fetch: Fetch;
  /** Returns the text of a file (UTF-8); throws if it cannot be read. */
  readonly readFile: (path: string) => string;
  /** Writes a file that only its owner may read, or replaces it; throws if it cannot. The ID is unique. */
  readonly replaceFile: (path: string, text: string, id: string) => void;
  /** The version of Keytrail. */
  readonly version: string;
  /** The current time. */
  readonly now: () => Date;
  /** A monotonic clock in milliseconds. */
  readonly clock: () => number;
  /** A random number from 0 up to, but not including, 1. Not for secrets. */
  readonly random: () => number;
  /** Creates a UUID. */
  readonly createId: () => string;
  /** Creates an unguessable token. */
  readonly createToken: () => string;
  /** Loads OpenTelemetry's SDK, which reads the environment itself. Rejects if it is not installed. */
  readonly loadSdk: () => Promise<Pick<typeof import('@opentelemetry/sdk-node'), 'NodeSDK'>>;
  /** Returns what creates spans. They are recorded only if the process has an SDK by then. */
  readonly getTracer: () => Tracer;
  /** Aborted when the process should shut down, with the number of the signal as reason. */
  readonly stopping: AbortSignal;
  /** The memory that the process may use, in bytes; 0 or a huge number without a limit. */
  readonly memoryBytes: number;
  /** Lets the process exit a second after the command has ended, although something that does not respond keeps it alive. */
  readonly exit: () => void;
};

/** Resolves when the process should shut down. */
export async function untilStopped({ stopping }: Runtime): Promise<void> {
  if (!stopping.aborted) await once(stopping, 'abort');
}
