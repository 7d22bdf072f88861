import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The stub service in a process of its own, which can be stopped in every way that a process can. */
export type ServiceProcess = AsyncDisposable & {
  readonly url: string;
  /** The process does nothing any more, until it goes on. Its connections stay. */
  pause(): void;
  goOn(): void;
  /** Ends the process at once. */
  kill(): Promise<void>;
  /** Starts it again on the same port. */
  restart(): Promise<void>;
  /** Lets the port refuse connections, and cuts those that there are. */
  refuse(): Promise<void>;
  listen(): Promise<void>;
  /** How often the service saw each login and deletion, by the name that the load gave it. */
  seen(): Promise<ReadonlyMap<string, number>>;
};

/** Starts it on a free loopback port. */
export async function startServiceProcess(): Promise<ServiceProcess> {
  const folder = await mkdtemp(join(tmpdir(), 'keytrail-'));
  const journal = join(folder, 'journal');
  await writeFile(journal, '');
  let child = start(journal, '0');
  const url = await message(child);
  const { port } = new URL(url);

  const command = async (text: string) => {
    child.send(text);
    await message(child);
  };
  const kill = async () => {
    const closed = once(child, 'close');
    child.kill('SIGKILL');
    await closed;
  };
  return {
    url,
    pause: () => void child.kill('SIGSTOP'),
    goOn: () => void child.kill('SIGCONT'),
    kill,
    restart: async () => {
      child = start(journal, port);
      await message(child);
    },
    refuse: () => command('refuse'),
    listen: () => command('listen'),
    seen: async () => {
      const lines = (await readFile(journal, 'utf8')).split('\n').slice(0, -1);
      return new Map(
        [...Map.groupBy(lines, (tag) => tag)].map(([tag, { length }]) => [tag, length]),
      );
    },
    [Symbol.asyncDispose]: async () => {
      await kill();
      await rm(folder, { recursive: true });
    },
  };
}

function start(journal: string, port: string): ChildProcess {
  const file = fileURLToPath(new URL('service-process.ts', import.meta.url));
  return fork(file, [journal, port], { execArgv: [] });
}

async function message(child: ChildProcess): Promise<string> {
  const [value] = await once(child, 'message');
  return value;
}
