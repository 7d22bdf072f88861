import { readdirSync, readFileSync } from 'node:fs';
import {
  AuditDocument,
  DeleteApiKeyDocument,
  LoginDocument,
} from '../../src/client/operations.generated.ts';
import { parseContract } from '../../src/gateway/config/contract-schema.ts';
import type { ChosenEntry } from '../../src/gateway/inference/candidates.ts';
import { EVENT_ENTRIES } from '../../src/gateway/inference/event-entries.ts';
import type { ConfiguredContract } from '../../src/gateway/mapping/contract.ts';
import type { AuditEvent } from '../../src/gateway/mapping/event.ts';
import { interpretPointer } from '../../src/gateway/mapping/json-pointer.ts';
import { memberAt } from '../../src/gateway/mapping/read-entry.ts';
import { cutToMillis, parseTime } from '../../src/gateway/mapping/time.ts';
import { ask, codeOf, gatewayOver } from '../helpers/gateway.ts';
import { startService } from '../helpers/service.ts';

const FOLDER = new URL('../fixtures/shapes/', import.meta.url);

type Pointer = string | null;

/** The expected reading of a sample. Each kind of sample has only some of these properties. */
type Expectation = {
  readonly level: string;
  readonly records: string;
  readonly values: readonly Readonly<Record<string, unknown>>[];
  readonly accept?: Readonly<Record<string, readonly Pointer[]>> & {
    readonly expires?: readonly (readonly [string, string])[];
  };
  readonly accessToken: Pointer;
  readonly refreshToken: Pointer;
  readonly tokenType: Pointer;
  readonly header: Pointer;
  /** The header with the refresh token, which only a contract reads. */
  readonly refreshHeader?: Pointer;
  readonly expires: Pointer;
  readonly expiresKind: Pointer;
  readonly deleted: boolean | null;
  readonly final: boolean;
  readonly message: Pointer;
  /** The HTTP status that the body of a 2xx response reports. */
  readonly status?: number;
};

/** A published response of a real service, with its expected reading. */
export type Sample = {
  readonly name: string;
  /** The company that makes the product; the product if there is none. */
  readonly vendor: string;
  readonly source: string;
  /** Whether the fields were read in the source. Others are from memory: they train, and are not in the rules. */
  readonly verified: boolean;
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: unknown;
  };
  readonly expect: Expectation;
  /** The contract in the file next to the sample; null if there is none. */
  readonly contract: ConfiguredContract | null;
};

/** How well a field was read, over all samples of a kind and level. An unexpected null is neither right nor wrong. */
export type Score = {
  readonly kind: string;
  readonly level: string;
  readonly field: string;
  right: number;
  wrong: number;
  of: number;
};

/** The names of the entries in the labels of the samples. */
export const LABELS: Readonly<Record<ChosenEntry, string>> = {
  ...{ id: 'id', occurredAt: 'time', action: 'action', outcome: 'outcome', ipAddress: 'ip' },
  ...{ userAgent: 'userAgent', 'actor.identifier': 'actorId', 'actor.name': 'actorName' },
  ...{ 'actor.type': 'actorType', 'target.identifier': 'targetId', 'target.name': 'targetName' },
  'target.type': 'targetType',
};

/** Counts a value that was read, and compares it with the accepted values. */
export type Add = (field: string, got: unknown, accepted: readonly unknown[]) => void;

/** Returns all samples of a kind. */
export function samplesOf(kind: string): readonly Sample[] {
  const folder = new URL(`${kind}/`, FOLDER);
  const files = readdirSync(folder);
  return files
    .filter((file) => !file.endsWith('.contract.json'))
    .map((file) => {
      const contractFile = file.replace('.json', '.contract.json');
      const parsed = files.includes(contractFile)
        ? parseContract(readFileSync(new URL(contractFile, folder), 'utf8'))
        : { contract: null };
      if ('problems' in parsed) throw new Error(`${contractFile}: ${parsed.problems}`);
      return {
        ...JSON.parse(readFileSync(new URL(file, folder), 'utf8')),
        name: file.replace('.json', ''),
        contract: parsed.contract,
      };
    });
}

/** Reads an audit sample through a gateway and a real server, and compares each field of each record. */
export async function scoreAudit(
  sample: Sample,
  contract: ConfiguredContract,
  add: Add,
): Promise<void> {
  await using service = await startService(sample.response);
  await using gateway = gatewayOver(service.url, { contract });
  const { data } = await ask(
    gateway,
    AuditDocument,
    { first: 1000, withRaw: true },
    { token: 't' },
  );
  const expected = sample.expect.values;
  const nodes = data?.audit?.nodes ?? [];
  const found = interpretPointer(sample.expect.records)(sample.response.body);
  const records = Object.values(Object(found));
  add('container', JSON.stringify(nodes.map(({ raw }) => raw)), [JSON.stringify(records)]);
  for (const index of expected.keys()) {
    const node = nodes[index];
    for (const [entry, label] of Object.entries(LABELS))
      add(label, memberAt(node, entry) ?? null, acceptedValues(sample, label, index));
  }
}

/** The values that are right for a field of a record: the expected one, then others. */
export function acceptedValues(
  { response, expect }: Sample,
  field: string,
  index: number,
): readonly unknown[] {
  const record = Object.values(Object(interpretPointer(expect.records)(response.body)))[index];
  const wanted = expect.values[index]?.[field === 'time' ? 'timeIso' : field];
  const others = (expect.accept?.[field] ?? []).map((pointer) =>
    pointer === null ? null : interpretPointer(pointer)(record),
  );
  return [wanted, ...others].map((value) => normalize(field, value));
}

/** A value in the form in which it is compared: an instant for a time, an outcome for its words. */
export function normalize(field: string, value: unknown): unknown {
  if (value === null || value === undefined || value === '') return null;
  if (field === 'time') return toDateTime(value);
  if (field !== 'outcome') return String(value);
  if (/^(?:true|succe|complete|permitted|[23]\d\d$)/i.test(String(value))) return 'SUCCESS';
  const failure = /^(?:false|unsucc|fail|unauthori[sz]ed|[45]\d\d$)|(?:failed|error|denied)$/i;
  return failure.test(String(value)) ? 'FAILURE' : null;
}

/** The gateway's clock during a login. */
const NOW = new Date('2026-11-21T00:00:00.000Z');

/** Reads a login response through a gateway. */
export async function scoreLogin({ response, expect, contract }: Sample, add: Add): Promise<void> {
  await using service = await startService(response);
  await using gateway = gatewayOver(service.url, { contract: contract ?? {}, now: () => NOW });
  const { data } = await ask(gateway, LoginDocument, {
    clientId: 'c',
    credential: { clientSecret: 's' },
  });
  const value = (pointer: string | null) =>
    pointer === null ? null : interpretPointer(pointer)(response.body);
  const header = expect.header === null ? null : response.headers[expect.header];
  const got = data?.login;
  add('accessToken', got?.accessToken ?? null, [
    value(expect.accessToken) ?? header?.replace('Bearer ', '') ?? null,
  ]);
  const inHeader = response.headers[expect.refreshHeader ?? ''];
  const refreshTokens = [value(expect.refreshToken), ...(inHeader === undefined ? [] : [inHeader])];
  add('refreshToken', got?.refreshToken ?? null, refreshTokens);
  add('tokenType', got?.tokenType ?? null, tokenTypes(value(expect.tokenType)));
  const expirations = [
    [expect.expires, expect.expiresKind] as const,
    ...(expect.accept?.expires ?? []),
  ];
  add(
    'expiresAt',
    got?.expiresAt ?? null,
    expirations.map(([pointer, kind]) => toExpiry(value(pointer), kind)),
  );
}

/** The type of a token, and that in the spelling of RFC 6750: OAuth ignores the case. */
function tokenTypes(value: unknown): readonly unknown[] {
  return /^bearer$/i.test(String(value ?? 'Bearer')) ? [value, 'Bearer'] : [value];
}

function toExpiry(value: unknown, kind: string | null): string | null {
  if (kind === null || value === null || value === undefined) return null;
  if (kind === 'seconds') return new Date(NOW.getTime() + Number(value) * 1000).toISOString();
  if (kind === 'milliseconds' || kind === 'ms')
    return new Date(NOW.getTime() + Number(value)).toISOString();
  if (kind === 'jwt-exp') {
    const claims = JSON.parse(
      Buffer.from(String(value).split('.')[1] ?? '', 'base64url').toString(),
    );
    return new Date(claims.exp * 1000).toISOString();
  }
  return toDateTime(value);
}

/** The value of an entry of an event, as the graph has it. */
export function readEntry(event: AuditEvent, entry: string): string | null {
  return EVENT_ENTRIES.find(({ name }) => name === entry)?.read(event) ?? null;
}

/** The time as the graph has it. */
function toDateTime(value: unknown): string | null {
  const time = parseTime(value);
  return time && cutToMillis(time);
}

/** The code of a failed response. A 2xx response that reports a failure without a status is an UPSTREAM_ERROR. */
function codeFor(status: number): string {
  const codes: Readonly<Record<number, string>> = {
    ...{ 400: 'BAD_USER_INPUT', 401: 'UNAUTHENTICATED', 403: 'FORBIDDEN', 404: 'NOT_FOUND' },
    ...{ 409: 'CONFLICT', 410: 'NOT_FOUND', 422: 'BAD_USER_INPUT', 429: 'RATE_LIMITED' },
  };
  return codes[status] ?? 'UPSTREAM_ERROR';
}

/** Reads a deletion response through a gateway. */
export async function scoreDelete({ response, expect }: Sample, add: Add): Promise<void> {
  await using service = await startService(toServiceResponse(response));
  await using gateway = gatewayOver(service.url);
  const result = await ask(gateway, DeleteApiKeyDocument, { clientId: 'c' }, { token: 't' });
  const failure = codeFor(expect.status ?? response.status);
  const wanted = expect.deleted === false ? failure : expect.final ? 'DELETED' : 'ACCEPTED';
  add('outcome', result.data?.deleteApiKey?.outcome ?? codeOf(result), [wanted]);
}

/** Reads an error response through a gateway: the status determines the code, and its text is not forwarded. */
export async function scoreError({ response, expect }: Sample, add: Add): Promise<void> {
  await using service = await startService(toServiceResponse(response));
  await using gateway = gatewayOver(service.url);
  const result = await ask(gateway, '{ audit { totalCount } }', undefined, { token: 't' });
  add('code', codeOf(result), [codeFor(expect.status ?? response.status)]);
  const text = expect.message === null ? null : interpretPointer(expect.message)(response.body);
  const isLeaked = typeof text === 'string' && result.text.includes(text);
  add('text kept back', !isLeaked, [true]);
}

function toServiceResponse({ body, ...rest }: Sample['response']) {
  return { ...rest, body: body === null ? '' : body };
}
