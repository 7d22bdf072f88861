import { once } from 'node:events';

/** What commands and servers use of the process and the system. Tests pass their own. */
export type RunningProcess = {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Output for programs: log lines, the schema, a contract. */
  readonly stdout: { write(text: string): unknown; readonly isTTY?: boolean };
  /** Output for people: the banner and error messages. */
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean };
  /** The version of Keytrail. */
  readonly version: string;
  /** The current time. */
  readonly now: () => Date;
  /** Creates a UUID. */
  readonly createId: () => string;
  /** Aborted when the process should shut down, with the number of the signal as reason. */
  readonly stopping: AbortSignal;
  /** Lets the process exit a second after the command has ended, although something that does not respond keeps it alive. */
  readonly exit: () => void;
};

/** Resolves when the process should shut down. */
export async function untilStopped({ stopping }: Pick<RunningProcess, 'stopping'>): Promise<void> {
  if (!stopping.aborted) await once(stopping, 'abort');
}
