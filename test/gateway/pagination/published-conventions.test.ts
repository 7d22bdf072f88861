import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ask, gatewayOver, type Result } from '../../helpers/gateway.ts';
import { keytrailInProcess } from '../../helpers/process.ts';
import {
  PAGING_CONVENTIONS,
  type PagingConvention,
  RECORDS,
} from '../../helpers/published-paging.ts';
import { startService } from '../../helpers/service.ts';

const IDS = RECORDS.map(({ id }) => id);
const PAGES = 3;

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'keytrail-paging-'));
});
afterAll(() => rm(folder, { recursive: true }));

function serve({ respond }: PagingConvention) {
  return startService(({ url, headers }) => {
    const base = `http://${headers.host}`;
    return respond(new URL(url, base), base);
  });
}

const contractOf = ({ paging }: PagingConvention) =>
  typeof paging === 'object' && paging !== null ? { audit: { paging } } : {};

type Trail = {
  readonly audit: {
    readonly totalCount: number | null;
    readonly nodes: readonly { readonly id: string }[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
};

const QUERY =
  'query ($first: Int, $after: String) { audit(first: $first, after: $after) { totalCount nodes { id } pageInfo { hasNextPage endCursor } } }';

describe.each(PAGING_CONVENTIONS)('paging as in $name', (convention) => {
  const { paging, total, isUnknowable } = convention;
  const isSayable = typeof paging !== 'string';

  it.each([1, 4, 50])('has each record once, %i at a time', async (first) => {
    await using service = await serve(convention);
    await using gateway = gatewayOver(service.url, { contract: contractOf(convention) });
    const ids: string[] = [];
    const totals = new Set<number | null>();
    let after: string | null = null;
    let code: string | undefined;
    let requests = 0;
    do {
      const result: Result<Trail> = await ask(gateway, QUERY, { first, after }, { token: 't' });
      code = result.errors?.[0]?.extensions.reason;
      requests += 1;
      if (result.data?.audit == null) break;
      const { nodes, totalCount, pageInfo } = result.data.audit;
      ids.push(...nodes.map(({ id }) => id));
      totals.add(totalCount);
      after = pageInfo.hasNextPage ? pageInfo.endCursor : null;
      expect(requests).toBeLessThanOrEqual(3 * Math.ceil(RECORDS.length / first));
    } while (after !== null);
    if (isSayable) expect(ids).toEqual(IDS);
    else expect(ids).toEqual(IDS.slice(0, ids.length));
    expect(code).toBe(isSayable ? undefined : 'PAGING_UNKNOWN');
    for (const count of totals) expect([IDS.length, null]).toContain(count);
    if (total !== null) expect(totals).toContain(total);
    if (!isUnknowable) expect(service.seen.length).toBeLessThanOrEqual(3 * PAGES * requests);
  });

  it('is read completely by `keytrail audit --limit all`', async () => {
    await using service = await serve(convention);
    const contract = join(folder, `${PAGING_CONVENTIONS.indexOf(convention)}.json`);
    await writeFile(contract, JSON.stringify(contractOf(convention)));
    const environment = {
      UPSTREAM_URL: service.url,
      KEYTRAIL_TOKEN: 't',
      KEYTRAIL_CONTRACT: contract,
    };
    await using command = keytrailInProcess(['audit', '--limit', 'all'], environment);
    const status = await command.status;
    const { stdout, stderr } = command.output;
    const ids = stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line).id);
    if (isSayable) expect({ ids, status, stderr }).toEqual({ ids: IDS, status: 0, stderr: '' });
    else {
      expect(ids).toEqual(IDS.slice(0, ids.length));
      expect(status).not.toBe(0);
      expect(stderr).toContain('audit.paging');
    }
  });
});
