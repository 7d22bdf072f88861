import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConfiguredContract } from '../../src/gateway/mapping/contract.ts';
import { keytrailInProcess } from './process.ts';

/** A token as a service may issue it. */
export const TOKEN = 'kt_9fQ2/zXw+7Lr4Tb.8Yp~Hs';

/** A folder for the files of a test, removed when it is disposed. */
export async function createFolder() {
  const folder = await mkdtemp(join(tmpdir(), 'keytrail-'));
  const pathOf = (name: string) => join(folder, name);
  return {
    pathOf,
    read: (name: string) => readFile(pathOf(name), 'utf8'),
    write: async (name: string, value: unknown) => {
      await writeFile(pathOf(name), JSON.stringify(value));
      return pathOf(name);
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

/** Runs a command for a service with the token, and returns what it printed. */
export async function runFor(
  url: string,
  args: readonly string[],
  { token = TOKEN, contract }: { readonly token?: string; readonly contract?: string } = {},
) {
  await using command = keytrailInProcess(args, {
    ...{ UPSTREAM_URL: url, KEYTRAIL_TOKEN: token },
    ...(contract !== undefined && { KEYTRAIL_CONTRACT: contract }),
  });
  const status = await command.status;
  return { status, ...command.output };
}

/** The texts that a credential may be hidden in, one encoding deep. */
export function encodingsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const inBase64 = ['', 'x', 'xy'].flatMap((before) => {
    // Without the digits that depend on what precedes and follows the text.
    const start = [0, 2, 3][before.length] ?? 0;
    const text = Buffer.from(`${before}${secret}`).toString('base64');
    const core = text.replace(/=+$/, '').slice(start, -2);
    return [core, core.replaceAll('+', '-').replaceAll('/', '_')];
  });
  const percent = [...bytes].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  const escaped = [...secret]
    .map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
  return [
    ...[secret, encodeURIComponent(secret), percent, percent.toUpperCase(), escaped],
    ...[secret.replaceAll('/', '\\/'), ...inBase64],
  ];
}

/** The contract of the trail only: the login of a testbed is the sandbox's. */
export function withoutLogin(contract: ConfiguredContract | null): ConfiguredContract {
  return contract?.audit === undefined ? {} : { audit: contract.audit };
}
