import { ConfigError } from '../gateway/config/config-error.ts';
import { isBearerHeader } from '../util/bearer-token.ts';
import type { CommandLine } from './command-line.ts';
import { openSession } from './open-session.ts';
import type { CommandRuntime } from './runtime.ts';

/**
 * Runs `keytrail token`: prints the access token of a login, renewed if needed, or with `--header` the header that has it.
 * @throws ConfigError at a terminal without `--show`, and what `openSession` and the renewal throw. Then nothing is printed.
 */
export async function token(runtime: CommandRuntime, commandLine: CommandLine): Promise<number> {
  const { header, show, problems } = commandLine;
  const output = runtime.openOutput();
  const isShown = output.isTerminal && !show;
  await using session = await openSession(
    runtime,
    { ...commandLine, problems: [...problems, ...(isShown ? [SHOWN] : [])] },
    'token',
  );
  const accessToken = await session.token();
  // A line break in a file that was edited would be another header.
  if (!isBearerHeader(`Bearer ${accessToken}`))
    throw new ConfigError(['The saved access token cannot be sent in a header: log in again.']);
  await output.write(header ? `authorization: Bearer ${accessToken}\n` : `${accessToken}\n`);
  return 0;
}

const SHOWN =
  'A terminal would show the token: pipe it into a program, as in keytrail token --header | curl -H @- URL, or add --show.';
