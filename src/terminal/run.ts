import { InstallationError } from '../errors.ts';
import { ConfigError } from '../gateway/config/config-error.ts';
import { loadSettings, nameAsGiven } from '../gateway/config/load.ts';
import { quote } from '../gateway/config/value-types.ts';
import { untilStopped } from '../util/running-process.ts';
import { type CommandLine, parseCommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { formatHelp } from './help.ts';
import { LocalFailure } from './local-failure.ts';
import { print } from './output.ts';
import { createRequestLog } from './request-log.ts';
import type { CommandRuntime, Runtime, Servers } from './runtime.ts';

/**
 * Runs the command of the command line.
 * @returns the exit status: 0 stopped normally, 1 could not run, 2 an option or a setting is invalid; others as
 * {@link COMMANDS} has them.
 */
export async function run(system: Runtime, servers: Servers): Promise<number> {
  const commandLine = parseCommandLine(system.arguments, system.environment);
  const requests = createRequestLog(system, commandLine);
  const runtime: CommandRuntime = { ...system, requests };
  const { command, help, version, problems } = commandLine;
  try {
    // A person at a terminal gets help. Images and services start the gateway without a terminal.
    const isBare = runtime.arguments.length === 0 && runtime.stdout.isTTY === true;
    const topic = isBare ? 'keytrail' : help;
    if (topic !== undefined || version) {
      await print(runtime, topic === undefined ? `${runtime.version}\n` : formatHelp(topic));
      return 0;
    }
    switch (command) {
      case 'serve':
        await (await import('./serve.ts')).serve(runtime, commandLine, servers);
        return 0;
      case 'sandbox':
        await (await import('./sandbox.ts')).sandbox(runtime, commandLine, servers);
        return 0;
      case 'learn':
        return await untilDone(
          runtime,
          (await import('./learn.ts')).learn(runtime, commandLine).then(() => 0),
        );
      case 'record':
        return await untilDone(runtime, (await import('./record.ts')).record(runtime, commandLine));
      case 'check':
        return await untilDone(runtime, (await import('./check.ts')).check(runtime, commandLine));
      case 'login': {
        const { login } = await import('./login.ts');
        return await untilDone(runtime, login(runtime, commandLine));
      }
      case 'audit': {
        const { audit } = await import('./audit.ts');
        return await untilDone(runtime, audit(runtime, commandLine));
      }
      case 'status': {
        const { status } = await import('./status.ts');
        return await Promise.race([status(runtime, commandLine), whenStopped(runtime)]);
      }
      case 'token': {
        const { token } = await import('./token.ts');
        return await Promise.race([token(runtime, commandLine), whenStopped(runtime)]);
      }
      case 'logout': {
        const { logout } = await import('./logout.ts');
        return await Promise.race([logout(runtime, commandLine), whenStopped(runtime)]);
      }
      case 'completion':
        await (await import('./completion.ts')).completion(runtime, commandLine);
        return 0;
      case 'delete-key':
        return await (await import('./delete-key.ts')).deleteKey(runtime, commandLine);
      case 'schema': {
        loadSettings({ ...runtime, ...commandLine, ...COMMANDS.schema }); // reports invalid options
        await print(runtime, await servers.printSchema(commandLine));
        return 0;
      }
      default:
        throw new ConfigError(problems);
    }
  } catch (error) {
    return report(runtime, commandLine, error);
  }
}

/** The exit status of a command that a signal ends at once. */
async function untilDone(runtime: CommandRuntime, work: Promise<number>): Promise<number> {
  const done = work.catch((error) => {
    if (!runtime.stopping.aborted) throw error;
    return whenStopped(runtime);
  });
  return await Promise.race([done, whenStopped(runtime)]);
}

/** Resolves to the exit status once the process should shut down. What was being read need not end. */
async function whenStopped(runtime: CommandRuntime): Promise<number> {
  await untilStopped(runtime);
  runtime.exit();
  return 128 + Number(runtime.stopping.reason);
}

async function report(
  runtime: CommandRuntime,
  commandLine: CommandLine,
  error: unknown,
): Promise<number> {
  const { command } = commandLine;
  const { stderr } = runtime;
  const isOneOff = command !== undefined && command !== 'serve' && command !== 'sandbox';
  const { isJson, reportFailure } = await import('./report-failure.ts');
  if (error instanceof ConfigError && !isJson(commandLine)) {
    const problems = error.problems.map((problem) => `  - ${problem}\n`).join('');
    const keytrail = command === undefined ? 'keytrail' : `keytrail ${command}`;
    const subject = isOneOff ? keytrail : 'keytrail: cannot start';
    stderr.write(`${subject}:\n${problems}See ${keytrail} --help.\n`);
    return 2;
  }
  if (isOneOff || error instanceof LocalFailure) {
    const status = reportFailure(runtime, commandLine, error);
    if (status !== undefined) return status;
  }
  const problem = describeStartFailure(error, commandLine);
  if (problem === undefined) throw error;
  stderr.write(`keytrail: cannot start: ${problem}\n`);
  return 1;
}

/** Describes an incomplete installation, and Node's error if a port or a file cannot be opened; undefined for any other. */
function describeStartFailure(error: unknown, { data, flags }: CommandLine): string | undefined {
  if (error instanceof InstallationError) return error.message;
  const { code, port, address, hostname, settings } = Object(error);
  const hostSetting = nameAsGiven(settings?.host ?? 'HOST', flags);
  const portSetting = nameAsGiven(settings?.port ?? 'PORT', flags);
  switch (code) {
    case 'EADDRINUSE':
      return `${address}:${port} is in use by another program. Choose another port, for example ${portSetting}=4002.`;
    case 'EACCES':
      return `no permission to listen on ${address}:${port}. Choose a port of 1024 or more with ${portSetting}.`;
    case 'EADDRNOTAVAIL':
    case 'EINVAL':
    case 'EAFNOSUPPORT':
    case 'EAI_AGAIN':
    case 'ENOTFOUND':
      return `${hostSetting} must be an address of this machine, for example 127.0.0.1 or 0.0.0.0, not ${quote(String(address ?? hostname))}.`;
    case 'ERR_SQLITE_ERROR':
      return `--data must be the path of a SQLite file that can be opened, not ${quote(String(data))}.`;
    default:
      return undefined;
  }
}
