import { ConfigError } from '../config/config-error.ts';
import { loadSettings } from '../config/files.ts';
import { GatewayError } from '../errors.ts';
import { helpText, readCommandLine } from './command-line.ts';
import type { Runtime } from './runtime.ts';

/** Carries out the command line and gives the exit status: 0 as asked, 1 could not run, 2 wrongly called. */
export async function run(host: Runtime): Promise<number> {
  const commandLine = readCommandLine(host.arguments);
  if (commandLine.help) {
    host.stdout.write(helpText());
    return 0;
  }
  if (commandLine.version) {
    host.stdout.write(`${host.version}\n`);
    return 0;
  }
  try {
    switch (commandLine.command) {
      case 'serve':
        await (await import('./serve.ts')).serve(host, commandLine);
        return 0;
      case 'sandbox':
        await (await import('./sandbox.ts')).sandbox(host, commandLine);
        return 0;
      case 'learn':
        await (await import('./learn.ts')).learn(host, commandLine);
        return 0;
      case 'schema': {
        loadSettings({ ...host, environment: {} }, commandLine);
        const { createSchema } = await import('../schema/index.ts');
        const { printSubgraph } = await import('../schema/federation.ts');
        host.stdout.write(printSubgraph(createSchema()));
        return 0;
      }
      default:
        loadSettings(host, commandLine); // throws, since no other command gets through
        return 2;
    }
  } catch (error) {
    return explain(host, error);
  }
}

function explain({ stderr }: Runtime, error: unknown): number {
  if (error instanceof ConfigError) {
    const problems = error.problems.map((problem) => `  - ${problem}\n`).join('');
    stderr.write(`keytrail: cannot start:\n${problems}See keytrail --help.\n`);
    return 2;
  }
  if (error instanceof GatewayError) {
    stderr.write(`keytrail: ${error.extensions.code}: ${error.message}\n`);
    return 1;
  }
  const { code, port, address, setting = 'PORT' } = Object(error);
  const sentence = START_FAILURES[String(code)];
  if (sentence === undefined) throw error;
  const place = port === undefined ? address : `${address}:${port}`;
  stderr.write(`keytrail: cannot start: ${sentence(place, setting)}\n`);
  return 1;
}

/** What Node says when a port or a file cannot be had, by its code. */
const START_FAILURES: Readonly<Record<string, (place: string, setting: string) => string>> = {
  EADDRINUSE: (place, setting) =>
    `${place} is in use by another program. Choose another port, as with ${setting}=4002.`,
  EADDRNOTAVAIL: (place) => `${place} is not an address of this machine. Choose another with HOST.`,
  EACCES: (place, setting) =>
    `${place} may not be used. Choose a port of 1024 or more with ${setting}.`,
  EINVAL: refuseHost,
  EAFNOSUPPORT: refuseHost,
  EAI_AGAIN: refuseHost,
  ENOTFOUND: refuseHost,
  ERR_SQLITE_ERROR: () => 'the file of --data cannot be opened as a SQLite database.',
};

function refuseHost(): string {
  return 'HOST names no address that can be used. Use 127.0.0.1 or 0.0.0.0.';
}
