import { isDeepStrictEqual } from 'node:util';
import { ConfigError } from '../config/config-error.ts';
import { loadSettings } from '../config/load.ts';
import { GatewayError } from '../errors.ts';
import { completeAudit, inferContract } from '../inference/complete-contract.ts';
import { inferEvent } from '../inference/event.ts';
import { readAuditPage } from '../mapping/audit-page.ts';
import type { ConfiguredContract, Contract } from '../mapping/contract.ts';
import type { AuditEvent } from '../mapping/event.ts';
import { recordsAt, SAMPLE_SIZE } from '../mapping/list-page.ts';
import { isObject } from '../mapping/values.ts';
import { parseBearer } from '../upstream/bearer.ts';
import { parseJson } from '../upstream/parse-json.ts';
import { path } from '../upstream/path.ts';
import { createRestClient } from '../upstream/rest-client.ts';
import { NO_TRACE, type UpstreamResponse } from '../upstream/types.ts';
import { escapeUnprintable } from '../util/escape-unprintable.ts';
import type { CommandLine } from './command-line.ts';
import { COMMANDS } from './commands.ts';
import { formatReport } from './learn-report.ts';
import type { Runtime } from './runtime.ts';

/**
 * Runs `keytrail learn`: infers a contract from saved responses, or from the audit trail of a live service. Prints the
 * contract as JSON to stdout, and a report of how the first records are mapped to stderr.
 * @throws ConfigError if there is no response, or none with a list of records or an access token.
 */
export async function learn(runtime: Runtime, commandLine: CommandLine): Promise<void> {
  const files = commandLine.from;
  // Saved responses need no settings from the environment. Wrong options are reported nevertheless.
  if (files.length > 0)
    loadSettings({ ...runtime, ...commandLine, ...COMMANDS.learn, environment: {} });
  const responses =
    files.length > 0
      ? files.map((file) => load(runtime, file))
      : [await fetchTrail(runtime, commandLine)];
  const contract = learnContract(responses);
  for (const [index, response] of responses.entries()) {
    const { audit, login } = inferContract(response);
    if (audit.records === null && login.accessToken === null)
      runtime.stderr.write(
        `Skipped ${files[index]}: it has no list of records and no access token.\n`,
      );
  }
  const lines = JSON.stringify(withoutDefaults(contract, responses), null, 2).split('\n');
  runtime.stdout.write(`${lines.map(escapeUnprintable).join('\n')}\n`);
  const trails = responses.filter((response) => isTrail(inferContract(response)));
  runtime.stderr.write(formatReport(trails, contract));
}

function load({ readFile }: Runtime, file: string): UpstreamResponse {
  try {
    return { status: 200, headers: {}, body: parseJson(readFile(file)) };
  } catch (error) {
    const problem =
      error instanceof GatewayError
        ? 'is not JSON that Keytrail can parse. Save the body of a response, without its headers.'
        : 'cannot be read. Check the path and its permissions.';
    throw new ConfigError([`--from ${JSON.stringify(file)} ${problem}`]);
  }
}

async function fetchTrail(runtime: Runtime, commandLine: CommandLine): Promise<UpstreamResponse> {
  const { config, tls } = loadSettings({ ...runtime, ...commandLine, ...COMMANDS.learn });
  const token = runtime.environment['KEYTRAIL_TOKEN'];
  if (config.UPSTREAM_URL === undefined || !token) {
    throw new ConfigError([
      'learn needs a saved response, as in --from response.json, or UPSTREAM_URL and an access token in the variable KEYTRAIL_TOKEN.',
    ]);
  }
  await using client = createRestClient({
    url: config.UPSTREAM_URL,
    timeoutMs: config.UPSTREAM_TIMEOUT_MS,
    connections: 1,
    maxBytes: config.UPSTREAM_MAX_BYTES,
    tls,
    now: () => runtime.now().getTime(),
  });
  return await client
    .of(NO_TRACE)
    .authorized(parseBearer(`Bearer ${token}`))
    .get('audit', path`/api/v1/audit`);
}

/**
 * Infers one contract from several responses: the login from the first that has an access token, the audit trail from
 * the first that has more pages, and the fields of an event from a sample of all records.
 * @throws ConfigError if no response has a list of records or an access token.
 */
export function learnContract(responses: readonly UpstreamResponse[]): ConfiguredContract {
  const inferred = responses.map((response) => ({ response, contract: inferContract(response) }));
  const trails = inferred.filter(({ contract }) => isTrail(contract));
  const login = inferred.find(
    ({ contract }) => !isTrail(contract) && contract.login.accessToken !== null,
  );
  const trail = trails.find(({ contract }) => contract.audit.paging.style !== 'none') ?? trails[0];
  if (login === undefined && trail === undefined) {
    throw new ConfigError([
      'No response has a list of records or an access token. Save the response of GET /api/v1/audit or POST /api/v1/auth/login, or write the contract by hand.',
    ]);
  }
  const records = trails.flatMap(({ response, contract }) =>
    (recordsAt(contract.audit.records, response.body) ?? []).slice(0, SAMPLE_SIZE),
  );
  return {
    ...(login && { login: login.contract.login }),
    ...(trail && { audit: { ...trail.contract.audit, event: inferEvent(records) } }),
  };
}

/** A response is an audit trail if its records have times, or if it has records and no access token. */
function isTrail({ audit, login }: Contract): boolean {
  return audit.records !== null && (audit.event.occurredAt !== null || login.accessToken === null);
}

/**
 * Removes null and default entries from a contract, so that they are inferred from each response.
 * @returns the same contract if a response would then be mapped differently.
 */
export function withoutDefaults(
  contract: ConfiguredContract,
  responses: readonly UpstreamResponse[],
): ConfiguredContract {
  const pruned = prune(contract) as ConfiguredContract; // prune() only removes entries, and all are optional
  const isSame = (response: UpstreamResponse) =>
    isDeepStrictEqual(readEvents(response, pruned), readEvents(response, contract));
  return responses.every(isSame) ? pruned : contract;
}

function prune(value: unknown): unknown {
  if (!isObject(value)) return value;
  const members = Object.entries(value)
    .filter(([key, member]) => key !== 'start' && Object(member).style !== 'none')
    .map(([key, member]) => [key, prune(member)] as const)
    .filter(([, member]) => member !== null && !isDeepStrictEqual(member, {}));
  return Object.fromEntries(members);
}

/** Reads every field of every event; null if the response has no list of records, such as that of a login. */
function readEvents(response: UpstreamResponse, { audit = {} }: ConfiguredContract): unknown {
  try {
    const trail = readAuditPage(completeAudit(response, audit), response);
    return Array.from({ length: trail.length }, (_, index) =>
      FIELDS.map((field) => trail.item(index)[field]),
    );
  } catch {
    return null;
  }
}

/** Every field of an event. */
export const FIELDS = [
  ...(['id', 'occurredAt', 'action', 'actor', 'target', 'outcome'] as const),
  ...(['ipAddress', 'userAgent', 'raw'] as const),
] as const satisfies readonly (keyof AuditEvent)[];
