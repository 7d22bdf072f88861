import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseContract } from '../../src/gateway/config/contract-schema.ts';
import type { ConfiguredContract } from '../../src/gateway/mapping/contract.ts';
import { keytrailInProcess } from '../helpers/process.ts';
import { type Add, type Sample, samplesOf, scoreAudit, scoreLogin } from './shapes.ts';

/** How a sample is read without a contract, and with the one to which the advice of `learn` leads. */
export type Advised = {
  readonly name: string;
  readonly verified: boolean;
  /** The values that differ from the expectation. */
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly contract: object;
};

/** Times that the advice is followed: what one contract adds can lead to more advice. */
const MAX_ROUNDS = 3;

/** Follows the advice of `learn` for every audit trail and login. */
export async function adviseAll(): Promise<readonly Advised[]> {
  const folder = await mkdtemp(join(tmpdir(), 'keytrail-advice-'));
  try {
    const advised: Advised[] = [];
    for (const kind of ['audit', 'login'] as const) {
      // A cookie is not a token.
      const samples = samplesOf(kind).filter(({ expect }) => expect.level !== 'none');
      for (const sample of samples) {
        const contract = await followAdvice(sample, folder);
        advised.push({
          name: `${kind}/${sample.name}`,
          verified: sample.verified,
          before: await missesOf(kind, sample, {}),
          after: await missesOf(kind, sample, contract),
          contract,
        });
      }
    }
    return advised;
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function missesOf(
  kind: 'audit' | 'login',
  sample: Sample,
  contract: ConfiguredContract,
): Promise<readonly string[]> {
  const misses: string[] = [];
  const add: Add = (field, got, accepted) => {
    if (!accepted.some((value) => JSON.stringify(value) === JSON.stringify(got)))
      misses.push(`${field} is ${String(got).slice(0, 60)}, not ${String(accepted).slice(0, 60)}`);
  };
  if (kind === 'audit') await scoreAudit(sample, contract, add);
  else await scoreLogin({ ...sample, contract }, add);
  return misses;
}

/** Does what the report says, without thinking: adds the first line for each null field, until there is no new one. */
async function followAdvice({ response }: Sample, folder: string): Promise<ConfiguredContract> {
  const [body, headers, file] = ['body.json', 'headers.txt', 'contract.json'].map((name) =>
    join(folder, name),
  ) as [string, string, string]; // one per name
  const lines = Object.entries(response.headers).map(([name, value]) => `${name}: ${value}\r\n`);
  await writeFile(headers, `HTTP/1.1 ${response.status} OK\r\n${lines.join('')}\r\n`);
  await writeFile(body, JSON.stringify(response.body));
  let contract: object = {};
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    await writeFile(file, JSON.stringify(contract));
    const args = ['learn', '--contract', file, '--from', body, '--headers', headers];
    await using learning = keytrailInProcess(args);
    await learning.status;
    const next = firstLines(learning.output.stderr).reduce(merge, contract);
    if (JSON.stringify(next) === JSON.stringify(contract)) break;
    contract = next;
  }
  const parsed = parseContract(JSON.stringify(contract));
  if ('problems' in parsed) throw new Error(parsed.problems.join('\n'));
  return parsed.contract;
}

/** The first contract after each line that says that a field is null, unless it says "perhaps". Example values follow it. */
function firstLines(report: string): readonly object[] {
  const sections = report.split(/^ *[\w.]+ is null/m).slice(1);
  return sections.flatMap((section) => {
    const [, sentence = '', line] = /^([\s\S]*?)^ *(\{".*)$/m.exec(section) ?? [];
    return line === undefined || /\bperhaps\b/i.test(sentence) ? [] : [parseStart(line)];
  });
}

/** Parses the JSON at the start of a line. */
function parseStart(line: string): object {
  const ends = [...line.matchAll(/\}/g)].map(({ index }) => index + 1);
  for (const end of ends.toReversed()) {
    try {
      return JSON.parse(line.slice(0, end));
    } catch {
      // It ends earlier.
    }
  }
  throw new Error(`no contract: ${line}`);
}

function merge(contract: object, added: object): object {
  const entries = Object.entries(added).map(([key, value]) => {
    const before: unknown = Reflect.get(contract, key);
    const areObjects = [before, value].every(
      (one) => typeof one === 'object' && one !== null && !Array.isArray(one),
    );
    return [key, areObjects ? merge(Object(before), value) : value];
  });
  return { ...contract, ...Object.fromEntries(entries) };
}
