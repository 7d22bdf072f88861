import { ConfigError } from '../gateway/config/config-error.ts';
import { parseContract } from '../gateway/config/contract-schema.ts';
import { quote } from '../gateway/config/value-types.ts';
import type { ConfiguredContract } from '../gateway/mapping/contract.ts';
import { SAMPLE_SIZE } from '../gateway/mapping/list-page.ts';
import { escapeUnprintable } from '../util/escape-unprintable.ts';
import type { CommandLine } from './command-line.ts';
import { isErrorBody } from './learn/describe-file.ts';
import { formatSentence } from './learn/format.ts';
import { learnContract, withNulls, withoutDefaults } from './learn/learn-contract.ts';
import { formatReport } from './learn/report.ts';
import { print } from './output.ts';
import { loadResponses, read } from './read-responses.ts';
import type { CommandRuntime } from './runtime.ts';

/**
 * Runs `keytrail learn`: completes a contract from saved responses, or from the audit trail of a live service. Prints it
 * as JSON to stdout, and a report of what it reads and what is missing to stderr.
 * @throws ConfigError if a file is unusable, or if no response has a list of records or an access token.
 */
export async function learn(runtime: CommandRuntime, commandLine: CommandLine): Promise<void> {
  const configured = loadContract(runtime, commandLine);
  const all = await loadResponses(runtime, commandLine);
  const bodies = all.map(({ response }) => response);
  const { kinds: found } = learnContract(bodies, configured);
  const isFailure = (index: number) =>
    (found[index] === null || (found[index] === 'audit' && !configured.audit?.records)) &&
    isErrorBody(bodies[index]?.body);
  const failed = all.filter((_, index) => isFailure(index));
  const responses = all.filter((_, index) => !isFailure(index));
  const used = responses.map(({ response }) => response);
  const { contract, kinds, records } = learnContract(used, configured);
  const named = [...responses, ...failed];
  const kindsOfAll = [...kinds, ...failed.map(() => null)];
  runtime.stderr.write(formatReport(named, kindsOfAll, contract, configured));
  const failures = failed.map(
    ({ name, isRequested }) => `${isRequested ? 'The response' : quote(name)} ${FAILED}`,
  );
  if (kinds.every((kind) => kind === null))
    throw new ConfigError(failures.length > 0 ? failures : [NOTHING_FOUND]);
  runtime.stderr.write(failures.map((line) => `${line}\n`).join(''));
  const short = withoutDefaults(contract, used, configured);
  const isComplete = records.length > 0 && (commandLine.complete || records.length >= SAMPLE_SIZE);
  const { contract: printed, undecided } = isComplete
    ? withNulls(short, contract, records)
    : { contract: short, undecided: [] };
  const names = undecided.join(', ');
  const remarks = [
    ...(isComplete ? [NULLS] : []),
    ...(undecided.length > 0 ? [`  Not in the contract: ${names}. ${UNDECIDED}`] : []),
  ];
  const text = remarks.flatMap((remark) => formatSentence(remark, '  '));
  runtime.stderr.write(text.map((line) => `${line}\n`).join(''));
  const lines = JSON.stringify(printed, null, 2).split('\n');
  await print(runtime, `${lines.map(escapeUnprintable).join('\n')}\n`);
}

const NULLS =
  '  The contract has null for each field that was not found. check and explain say when records have one.';

const UNDECIDED =
  'A line above is more likely right than not: add it, or null. Until then, inference examines the records for it.';

const FAILED =
  'is an error response, not a list of records or a login. Check the token and the URL of the request, and save the response to one that succeeds.';

const NOTHING_FOUND =
  'No response has a list of records or an access token. Save the right one of the lines above as contract.json and add --contract contract.json, or save the response of GET /api/v1/audit or POST /api/v1/auth/login.';

/** Loads the contract to try; an empty one if there is none. */
function loadContract(
  runtime: CommandRuntime,
  { contract: file }: CommandLine,
): ConfiguredContract {
  if (file === undefined) return {};
  const parsed = parseContract(read(runtime, '--contract', file));
  if ('contract' in parsed) return parsed.contract;
  throw new ConfigError(parsed.problems.map((problem) => `--contract ${quote(file)}: ${problem}`));
}
