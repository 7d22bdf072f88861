import { ConfigError } from '../config/config-error.ts';
import { loadSettings } from '../config/load.ts';
import { GatewayError } from '../errors.ts';
import { formatHelp, parseCommandLine } from './command-line.ts';
import type { Runtime } from './runtime.ts';

/**
 * Runs the command of the command line.
 * @returns the exit status: 0 stopped normally, 1 could not run, 2 an option or a setting is invalid.
 */
export async function run(runtime: Runtime): Promise<number> {
  const commandLine = parseCommandLine(runtime.arguments);
  if (commandLine.help || commandLine.version) {
    runtime.stdout.write(commandLine.help ? formatHelp() : `${runtime.version}\n`);
    return 0;
  }
  try {
    switch (commandLine.command) {
      case 'serve':
        await (await import('./serve.ts')).serve(runtime, commandLine);
        return 0;
      case 'sandbox':
        await (await import('./sandbox.ts')).sandbox(runtime, commandLine);
        return 0;
      case 'learn':
        await (await import('./learn.ts')).learn(runtime, commandLine);
        return 0;
      case 'schema': {
        // Reports invalid flags. The environment does not matter for the schema.
        loadSettings({ ...runtime, ...commandLine, environment: {} });
        const { createSchema } = await import('../schema/index.ts');
        const { printSubgraph } = await import('../schema/federation.ts');
        runtime.stdout.write(printSubgraph(createSchema()));
        return 0;
      }
      default:
        loadSettings({ ...runtime, ...commandLine }); // throws: an unknown command is a problem
        return 2;
    }
  } catch (error) {
    return reportFailure(runtime, error);
  }
}

function reportFailure({ stderr }: Runtime, error: unknown): number {
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
  const describe = START_FAILURES[String(code)];
  if (describe === undefined) throw error;
  const endpoint = port === undefined ? address : `${address}:${port}`;
  stderr.write(`keytrail: cannot start: ${describe(endpoint, setting)}\n`);
  return 1;
}

const describeUnusableHost = () =>
  'HOST is not an address that can be listened on. Use 127.0.0.1 or 0.0.0.0.';

/** Messages for Node's errors when a port or a file cannot be opened, by error code. */
const START_FAILURES: Readonly<Record<string, (endpoint: string, setting: string) => string>> = {
  EADDRINUSE: (endpoint, setting) =>
    `${endpoint} is in use by another program. Choose another port, for example ${setting}=4002.`,
  EADDRNOTAVAIL: (endpoint) =>
    `${endpoint} is not an address of this machine. Choose another with HOST.`,
  EACCES: (endpoint, setting) =>
    `no permission to listen on ${endpoint}. Choose a port of 1024 or more with ${setting}.`,
  EINVAL: describeUnusableHost,
  EAFNOSUPPORT: describeUnusableHost,
  EAI_AGAIN: describeUnusableHost,
  ENOTFOUND: describeUnusableHost,
  ERR_SQLITE_ERROR: () => 'the file of --data cannot be opened as a SQLite database.',
};
