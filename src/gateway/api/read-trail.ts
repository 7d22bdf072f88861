import type { UpstreamResponse } from '../../util/upstream-response.ts';
import { completeAudit, completeContract } from '../inference/complete-contract.ts';
import type { AuditContract, ConfiguredContract } from '../mapping/contract.ts';
import { type AuditEvent, readAuditPage } from '../mapping/event.ts';
import { fetchPages } from '../pagination/fetch-pages.ts';
import { pageSizeParameter } from '../pagination/resolve-connection.ts';
import { listAudit } from '../schema/audit.ts';
import { createPageLoader } from '../schema/page-loader.ts';
import { parseBearer } from '../upstream/bearer.ts';
import { createRestClient, type RestClientOptions } from '../upstream/http-client.ts';
import { followLink, type Path, path } from '../upstream/path.ts';
import { NO_TRACE } from '../upstream/types.ts';

export type { Attempt } from '../upstream/types.ts';

/** Where pages of the trail come from: a service or a recording. */
export type TrailSource = {
  /** The base URL of the service. */
  readonly url: URL;
  get(path: Path): Promise<UpstreamResponse>;
};

/** The trail of a service that is connected to. Disposing it closes the connection. */
export type LiveTrail = TrailSource &
  AsyncDisposable & {
    /** Requests the first page. */
    first(): Promise<UpstreamResponse>;
  };

/** A page of the trail: its request, its response, and how that is mapped. */
export type MappedPage = {
  readonly path: string;
  readonly response: UpstreamResponse;
  /** Complete: with what was inferred from this response. */
  readonly contract: AuditContract;
  readonly events: readonly AuditEvent[];
};

const AUDIT = path`/api/v1/audit`;

/**
 * Connects to the trail of a service as the gateway does. A request throws UNAUTHENTICATED if its Authorization header is not
 * well-formed.
 */
export function connectToTrail(
  options: Omit<RestClientOptions, 'connections'>,
  authorization: () => string,
): LiveTrail {
  const client = createRestClient({ ...options, connections: 1 });
  const get = async (path: Path) => {
    const calls = client.of(NO_TRACE).authorized(parseBearer(authorization()));
    return calls.get('audit', path, (response) => response);
  };
  return {
    ...{ url: options.url, get, first: () => get(AUDIT) },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

/** The path of the page of the trail that a link leads to; null if it leads elsewhere, see {@link followLink}. */
export function followTrailLink(link: string, url: URL): string | null {
  return followLink(link, AUDIT, url)?.value ?? null;
}

/**
 * Reads the first pages of the trail as the gateway reads them.
 * @throws GatewayError if a request fails, or if a response cannot be mapped.
 */
export async function readTrail(
  { url, get }: TrailSource,
  configured: ConfiguredContract,
  maxPages: number,
): Promise<readonly MappedPage[]> {
  const pages: MappedPage[] = [];
  const loader = createPageLoader(
    { follow: (link, from) => followLink(link, from, url) },
    () => ({
      get: async (_, path, read) => {
        const response = await get(path);
        const page = readAuditPage(completeAudit(response, configured), response);
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
