import { readdirSync, readFileSync } from 'node:fs';
import { parseContract } from '../../src/contract.ts';
import type { ConfiguredContract } from '../../src/reading/contract.ts';
import { at } from '../../src/reading/pointer.ts';
import { readTime } from '../../src/reading/time.ts';
import { ask, gatewayOver } from '../helpers/gateway.ts';
import { startService } from '../helpers/service.ts';

const FOLDER = new URL('../fixtures/shapes/', import.meta.url);

/** A published shape of a real service, with the reading that is expected of it. */
export type Sample = {
  readonly name: string;
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: unknown;
  };
  // biome-ignore lint/suspicious/noExplicitAny: a fixture, which only tests read
  readonly expect: any;
  /** The contract beside the sample, where one is kept. */
  readonly contract: ConfiguredContract | null;
};

/** How well a kind of field, or of answer, was read. A null that should not be is neither right nor wrong. */
export type Score = {
  readonly kind: string;
  readonly level: string;
  readonly field: string;
  right: number;
  wrong: number;
  of: number;
};

/** All samples of a kind. */
export function samplesOf(kind: string): readonly Sample[] {
  const folder = new URL(`${kind}/`, FOLDER);
  const files = readdirSync(folder);
  return files
    .filter((file) => !file.endsWith('.contract.json'))
    .map((file) => {
      const beside = file.replace('.json', '.contract.json');
      const parsed = files.includes(beside)
        ? parseContract(readFileSync(new URL(beside, folder), 'utf8'))
        : { contract: null };
      if ('problems' in parsed) throw new Error(`${beside}: ${parsed.problems}`);
      return {
        ...JSON.parse(readFileSync(new URL(file, folder), 'utf8')),
        name: file.replace('.json', ''),
        contract: parsed.contract,
      };
    });
}

const EVENT =
  '{ audit(first: 1000) { nodes { id occurredAt action outcome ipAddress userAgent actor { id name type } target { id name type } raw } } }';

/** Lets a gateway read a sample that a real server answers, and compares each field of each record. */
export async function scoreAudit(
  sample: Sample,
  contract: ConfiguredContract,
  add: (field: string, got: unknown, accepted: readonly unknown[]) => void,
): Promise<void> {
  await using service = await startService(sample.response);
  await using gateway = gatewayOver(service.url, { contract });
  // biome-ignore lint/suspicious/noExplicitAny: whatever comes back is compared below
  const { data } = await ask<any, never>(gateway, EVENT, undefined, { token: 't' });
  const expected = sample.expect.values;
  const nodes = data?.audit?.nodes ?? [];
  const found = at(sample.response.body, sample.expect.records);
  const records = Object.values(Object(found));
  add('container', JSON.stringify(nodes.map(({ raw }: { raw: unknown }) => raw)), [
    JSON.stringify(records),
  ]);
  for (const [index, values] of expected.entries()) {
    const { actor, target, ...node } = nodes[index] ?? {};
    const flat: Readonly<Record<string, unknown>> = {
      ...{ id: node.id, time: node.occurredAt, action: node.action, outcome: node.outcome },
      ...{ ip: node.ipAddress, userAgent: node.userAgent },
      ...{ actorId: actor?.id, actorName: actor?.name, actorType: actor?.type },
      ...{ targetId: target?.id, targetName: target?.name, targetType: target?.type },
    };
    for (const [field, got] of Object.entries(flat)) {
      const others = (sample.expect.accept?.[field] ?? []).map((pointer: string | null) =>
        pointer === null ? null : at(records[index], pointer),
      );
      const wanted = field === 'time' ? values.timeIso : values[field];
      add(
        field,
        got ?? null,
        [wanted, ...others].map((value) => normalize(field, value)),
      );
    }
  }
}

function normalize(field: string, value: unknown): unknown {
  if (value === null || value === undefined || value === '') return null;
  if (field === 'time') return readTime(value)?.toISOString() ?? null;
  if (field !== 'outcome') return String(value);
  if (/^(?:true|succe)/i.test(String(value))) return 'SUCCESS';
  return /^(?:false|unsucc|fail)|failed$|error$/i.test(String(value)) ? 'FAILURE' : null;
}

const LOGIN =
  'mutation { login(clientId: "c", credential: {clientSecret: "s"}) { accessToken refreshToken tokenType expiresAt } }';

/** The instant at which the logins below happen. */
const NOW = new Date('2026-11-21T00:00:00.000Z');

/** Lets a gateway read the answer of a login. */
export async function scoreLogin(
  { response, expect, contract }: Sample,
  add: (field: string, got: unknown, accepted: readonly unknown[]) => void,
): Promise<void> {
  await using service = await startService(response);
  await using gateway = gatewayOver(service.url, { contract: contract ?? {}, now: () => NOW });
  // biome-ignore lint/suspicious/noExplicitAny: whatever comes back is compared below
  const { data } = await ask<any, never>(gateway, LOGIN);
  const value = (pointer: string | null) => (pointer === null ? null : at(response.body, pointer));
  const header = expect.header === null ? null : response.headers[expect.header];
  const got = data?.login ?? {};
  add('accessToken', got.accessToken ?? null, [
    value(expect.accessToken) ?? header?.replace('Bearer ', '') ?? null,
  ]);
  add('refreshToken', got.refreshToken ?? null, [value(expect.refreshToken)]);
  add('tokenType', got.tokenType ?? null, [value(expect.tokenType) ?? 'Bearer']);
  const ends = [[expect.expires, expect.expiresKind], ...(expect.accept?.expires ?? [])];
  add(
    'expiresAt',
    got.expiresAt ?? null,
    ends.map(([pointer, kind]) => toInstant(value(pointer), kind)),
  );
}

function toInstant(value: unknown, kind: string | null): string | null {
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
  return readTime(value)?.toISOString() ?? null;
}
