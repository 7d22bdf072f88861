import type { Fetch } from '../client/request.ts';
import type { Settings } from '../gateway/config/load.ts';
import type { SettingName } from '../gateway/config/settings.ts';
import type { RunningProcess } from '../util/running-process.ts';
import type { lockFile } from './lock-file.ts';
import type { Output } from './output.ts';
import type { Input } from './prompt.ts';
import type { RequestLog } from './request-log.ts';

/** What a command uses of the process and the system. */
export type Runtime = RunningProcess & {
  /** The command line, without the executable and the script. */
  readonly arguments: readonly string[];
  /** Opens stdout for events. */
  readonly openOutput: () => Output;
  /** The secret of a login, and what is typed at a prompt. */
  readonly stdin: Input;
  /** Requests to a running gateway. */
  readonly fetch: Fetch;
  /** A monotonic clock in milliseconds. */
  readonly clock: () => number;
  /** A random number from 0 up to, but not including, 1. Not for secrets. */
  readonly random: () => number;
  /** Waits for milliseconds. It rejects, or resolves early, if the signal is aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<unknown>;
  /** Returns the text of a file (UTF-8); throws if it cannot be read. */
  readonly readFile: (path: string) => string;
  /** Writes a file that only its owner may read, or replaces it: see `replaceFile`. */
  readonly replaceFile: (path: string, text: string, id: string) => Promise<void>;
  /** Takes the lock of a file: see `lockFile`. */
  readonly lockFile: (path: string) => ReturnType<typeof lockFile>;
};

/** What a command uses while it runs. */
export type CommandRuntime = Runtime & {
  /** The requests of this command. */
  readonly requests: RequestLog;
};

/** The data of the sandbox: a SQLite file, or in memory; and whether credentials are used up. */
export type SandboxData = { readonly file: string | undefined; readonly strictLogin: boolean };

/** What commands run that is no part of the terminal. */
export type Servers = {
  /** Runs the gateway until the process should shut down: without UPSTREAM_URL, over a sandbox with these data. */
  readonly serve: (settings: Settings<SettingName>, data: SandboxData) => Promise<void>;
  /** Runs only the sandbox until the process should shut down. */
  readonly runSandbox: (
    options: SandboxData & {
      readonly host: string;
      readonly port: number;
      readonly recording: string | undefined;
    },
  ) => Promise<void>;
  /** Prints the GraphQL schema: for clients, or as a federation subgraph. */
  readonly printSchema: (options: { readonly client: boolean }) => Promise<string>;
};
