import { completeAudit, completeContract } from '../../inference/complete-contract.ts';
import type { AuditContract, ConfiguredContract } from '../../mapping/contract.ts';
import { type AuditEvent, readAuditPage } from '../../mapping/event.ts';
import { fetchPages } from '../../pagination/fetch-pages.ts';
import { pageSizeParameter } from '../../pagination/resolve-connection.ts';
import { listAudit } from '../../schema/audit.ts';
import { createPageLoader } from '../../schema/page-loader.ts';
import { followLink, type Path } from '../../upstream/path.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';

/** A page of the trail: its request, its response, and how that is mapped. */
export type MappedPage = {
  readonly path: string;
  readonly response: UpstreamResponse;
  /** Complete: with what was inferred from this response. */
  readonly contract: AuditContract;
  readonly events: readonly AuditEvent[];
};

/**
 * Reads the first pages of the trail as the gateway reads them.
 * @throws GatewayError if a request fails, or if a response cannot be mapped.
 */
export async function readTrail(
  { url, get }: Readonly<{ url: URL; get(path: Path): Promise<UpstreamResponse> }>,
  configured: ConfiguredContract,
  maxPages: number,
): Promise<readonly MappedPage[]> {
  const pages: MappedPage[] = [];
  const loader = createPageLoader(
    { follow: (link, from) => followLink(link, from, url) },
    () => ({
      get: async (_, path, read) => {
        const response = await get(path);
        const page = readAuditPage(completeAudit(response, configured.audit), response);
        pages.push({
          ...{ path: path.value, response, contract: completeContract(response, configured).audit },
          events: Array.from({ length: page.length }, (_, index) => page.item(index)),
        });
        return read(response);
      },
    }),
    new AbortController().signal,
  );
  const contract = { configured, reportDrift: () => {} };
  const fetchPage = listAudit(loader, contract, pageSizeParameter(configured.audit?.paging));
  await fetchPages(fetchPage, { token: null, position: null, maxPages }, async () => true);
  return pages;
}

/** The events of some pages. */
export function eventsOf(pages: readonly MappedPage[]): readonly AuditEvent[] {
  return pages.flatMap(({ events }) => events);
}
