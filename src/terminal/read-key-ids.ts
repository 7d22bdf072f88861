import { text } from 'node:stream/consumers';
import { isPathSegment } from '../gateway/api/path-segment.ts';
import { ConfigError } from '../gateway/config/config-error.ts';
import { toFileText, UTF_16 } from '../gateway/config/load.ts';
import { quote } from '../gateway/config/value-types.ts';
import { untilStopped } from '../util/running-process.ts';
import type { CommandLine } from './command-line.ts';
import { read } from './read-responses.ts';
import type { CommandRuntime } from './runtime.ts';

/** The file that `--from` names for standard input. */
export const STDIN = '-';

/** Problems that are reported. A file may be the wrong one, with a million lines. */
const MAX_PROBLEMS = 10;

/**
 * Reads all IDs of the command line, of files and of standard input, each once, and checks that each can be sent.
 * @throws ConfigError if a file cannot be read.
 */
export async function readKeyIds(
  runtime: CommandRuntime,
  { operands, from }: Pick<CommandLine, 'operands' | 'from'>,
): Promise<{ readonly ids: readonly string[]; readonly problems: readonly string[] }> {
  const given = operands.map((id, index) => ({ id, at: `ID ${index + 1} of the command line` }));
  for (const file of new Set(from)) {
    const name = file === STDIN ? 'standard input' : `--from ${quote(file)}`;
    const content = file === STDIN ? await readInput(runtime) : read(runtime, '--from', file);
    for (const { id, line } of parseIds(content)) given.push({ id, at: `${name}, line ${line}` });
  }
  const problems = given.flatMap(({ id, at }) => {
    const problem = findProblem(id);
    return problem === undefined ? [] : [`${at}: the ID ${problem}.`];
  });
  const more = problems.length - MAX_PROBLEMS;
  return {
    ids: [...new Set(given.map(({ id }) => id))],
    problems: [
      ...problems.slice(0, MAX_PROBLEMS),
      ...(more > 0 ? [`${more} more of the IDs cannot be sent.`] : []),
    ],
  };
}

/** The IDs of a text with one per line, which may end as on Windows. Empty lines and those that begin with `#` have none. */
export function parseIds(
  content: string,
): readonly { readonly id: string; readonly line: number }[] {
  return content
    .split(/\r?\n/)
    .map((id, index) => ({ id, line: index + 1 }))
    .filter(({ id }) => id.trim() !== '' && !id.startsWith('#'));
}

/** Why an ID cannot be sent. Completes "the ID …". It does not repeat the ID: a wrong file may hold secrets. */
export function findProblem(id: string): string | undefined {
  if (id === '') return 'is empty';
  if (id === '.' || id === '..')
    return 'is . or .., which a URL cannot have as a segment of its path';
  if (id.trim() !== id) return 'has spaces around it';
  // Node reads bytes that are not UTF-8 as U+FFFD: that would be another ID.
  if (!id.isWellFormed() || id.includes('\ufffd')) return 'is not in UTF-8';
  if (/\p{Cc}/u.test(id)) return 'has a control character';
  return isPathSegment(id) ? undefined : 'has more than 256 characters';
}

async function readInput(runtime: CommandRuntime): Promise<string> {
  const content = await Promise.race([text(runtime.stdin), untilStopped(runtime).then(() => '')]);
  if (runtime.stopping.aborted) runtime.exit(); // what was being read need not end
  const decoded = toFileText(content);
  if (decoded === null) throw new ConfigError([`--from -: standard input ${UTF_16}`]);
  return decoded;
}
