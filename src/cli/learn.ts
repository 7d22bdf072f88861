import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { ConfigError } from '../config/config-error.ts';
import { loadSettings } from '../config/load.ts';
import { GatewayError } from '../errors.ts';
import { inferEvent } from '../inference/event.ts';
import { completeAudit, inferContract } from '../inference/index.ts';
import type { ConfiguredContract, Contract } from '../mapping/contract.ts';
import type { AuditEvent } from '../mapping/event.ts';
import { recordsAt, SAMPLE_SIZE } from '../mapping/list-page.ts';
import { readTrail } from '../mapping/trail.ts';
import { parseBearer } from '../upstream/bearer.ts';
import { parseJson } from '../upstream/parse-json.ts';
import { path } from '../upstream/path.ts';
import { createRestClient } from '../upstream/rest-client.ts';
import type { UpstreamResponse } from '../upstream/types.ts';
import { NO_TRACE } from '../upstream/types.ts';
import type { CommandLine } from './command-line.ts';
import { describeReading } from './learn-report.ts';
import type { Runtime } from './runtime.ts';

/**
 * Looks at saved answers, or at the trail of a live service, and prints the contract by which they are read as JSON;
 * for people, how the first records look with it, and what stayed unread.
 * @throws ConfigError when there is nothing to look at, or nothing in it that could be read.
 */
export async function learn(host: Runtime, commandLine: CommandLine): Promise<void> {
  const files = commandLine.from;
  // The environment's settings concern the gateway; wrong options are named all the same.
  if (files.length > 0) loadSettings({ ...host, ...commandLine, environment: {} });
  const answers = files.length > 0 ? files.map(load) : [await fetchTrail(host, commandLine)];
  const contract = learnContract(answers);
  for (const [index, answer] of answers.entries()) {
    const { audit, login } = inferContract(answer);
    if (audit.records === null && login.accessToken === null)
      host.stderr.write(`${files[index]} holds neither a list of records nor an access token.\n`);
  }
  host.stdout.write(`${JSON.stringify(withoutDefaults(contract, answers), null, 2)}\n`);
  host.stderr.write(
    describeReading(
      answers.filter((answer) => isTrail(inferContract(answer))),
      contract,
    ),
  );
}

function load(file: string): UpstreamResponse {
  try {
    return { status: 200, headers: {}, body: parseJson(readFileSync(file, 'utf8')) };
  } catch (error) {
    const isRead = error instanceof GatewayError;
    throw new ConfigError([
      `--from ${file} ${isRead ? 'holds no JSON that can be read.' : 'cannot be read.'}`,
    ]);
  }
}

async function fetchTrail(host: Runtime, commandLine: CommandLine): Promise<UpstreamResponse> {
  const { config, tls } = loadSettings({ ...host, ...commandLine });
  const token = host.environment['KEYTRAIL_TOKEN'];
  if (config.UPSTREAM_URL === undefined || !token) {
    throw new ConfigError([
      'learn needs saved answers, as in --from answer.json, or UPSTREAM_URL and an access token in the variable KEYTRAIL_TOKEN.',
    ]);
  }
  await using client = createRestClient({
    url: config.UPSTREAM_URL,
    timeoutMs: config.UPSTREAM_TIMEOUT_MS,
    connections: 1,
    maxBytes: config.UPSTREAM_MAX_BYTES,
    tls,
    now: () => host.now().getTime(),
  });
  return await client
    .of(NO_TRACE)
    .authorized(parseBearer(`Bearer ${token}`))
    .get('audit', path`/api/v1/audit`);
}

/**
 * The contract by which answers of the service are read, all of one operation by the same.
 * @throws ConfigError when they hold neither records nor a token.
 */
export function learnContract(answers: readonly UpstreamResponse[]): ConfiguredContract {
  const contracts = answers.map((answer) => ({ answer, contract: inferContract(answer) }));
  const trails = contracts.filter(({ contract }) => isTrail(contract));
  const login = contracts.find(
    (one) => !trails.includes(one) && one.contract.login.accessToken !== null,
  );
  const [first] = trails.toSorted((a, b) => rankOf(a.contract) - rankOf(b.contract));
  if (login === undefined && first === undefined) {
    throw new ConfigError(['The answers hold neither a list of records nor an access token.']);
  }
  const records = trails.flatMap(({ answer, contract }) =>
    (recordsAt(contract.audit.records, answer.body) ?? []).slice(0, SAMPLE_SIZE),
  );
  return {
    ...(login && { login: login.contract.login }),
    ...(first && { audit: { ...first.contract.audit, event: inferEvent(records) } }),
  };
}

/** A list of records with times is a trail, and so is a list beside which there is no token. */
function isTrail({ audit, login }: Contract): boolean {
  return audit.records !== null && (audit.event.occurredAt !== null || login.accessToken === null);
}

/** The answer that tells most about paging comes first. */
function rankOf({ audit }: Contract): number {
  return audit.paging.style === 'none' ? 1 : 0;
}

/** The same contract without what was not found, so that it is looked for in each answer, if the answers are still read the same. */
export function withoutDefaults(
  contract: ConfiguredContract,
  answers: readonly UpstreamResponse[],
): ConfiguredContract {
  const spare = prune(contract) as ConfiguredContract; // of the same members, without those that are null
  const isSame = (answer: UpstreamResponse) =>
    isDeepStrictEqual(reading(answer, spare), reading(answer, contract));
  return answers.every(isSame) ? spare : contract;
}

/** Without what was not found, or is a default: that is told from each answer. */
function prune(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value)
    .filter(([name, member]) => name !== 'start' && Object(member).style !== 'none')
    .map(([name, member]) => [name, prune(member)] as const)
    .filter(([, member]) => member !== null && !isEmpty(member));
  return Object.fromEntries(members);
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function reading(answer: UpstreamResponse, { audit = {} }: ConfiguredContract): unknown {
  try {
    const trail = readTrail(completeAudit(answer, audit), answer);
    return Array.from({ length: trail.length }, (_, index) =>
      FIELDS.map((field) => trail.item(index)[field]),
    );
  } catch {
    return null; // the answer of a login
  }
}

/** All that can be asked of an event. */
export const FIELDS = [
  ...(['id', 'occurredAt', 'action', 'actor', 'target', 'outcome'] as const),
  ...(['ipAddress', 'userAgent', 'raw'] as const),
] as const satisfies readonly (keyof AuditEvent)[];
