import { ConfigError } from '../../config/config-error.ts';
import { quote } from '../../config/value-types.ts';
import { completeAudit } from '../../inference/complete-contract.ts';
import { type AuditPage, readAuditPage } from '../../mapping/audit-page.ts';
import type { AuditContract, ConfiguredContract } from '../../mapping/contract.ts';
import type { AuditEvent } from '../../mapping/event.ts';
import { isObject } from '../../mapping/values.ts';
import { fetchPages } from '../../pagination/fetch-pages.ts';
import { pageSizeParameter } from '../../pagination/resolve-connection.ts';
import { findResponse, parseRecording } from '../../sandbox/recording.ts';
import { listAudit } from '../../schema/audit.ts';
import { createPageLoader } from '../../schema/page-loader.ts';
import { decodeResponse } from '../../upstream/decode-response.ts';
import { followLink, type Path } from '../../upstream/path.ts';
import type { UpstreamResponse } from '../../upstream/types.ts';

/** A page of the trail: its request, its response, and how that is mapped. */
export type TrailPage = {
  readonly path: string;
  readonly response: UpstreamResponse;
  /** Complete: with what was inferred from this response. */
  readonly contract: AuditContract;
  readonly page: AuditPage;
};

/** Where pages of the trail come from. */
export type TrailSource = {
  /** Base URL of the service. */
  readonly url: URL;
  get(path: Path): Promise<UpstreamResponse>;
};

/**
 * Reads the first pages of the trail as the gateway reads them.
 * @throws GatewayError if a request fails, or if a response cannot be mapped.
 */
export async function readTrail(
  { url, get }: TrailSource,
  configured: ConfiguredContract,
  maxPages: number,
): Promise<readonly TrailPage[]> {
  const pages: TrailPage[] = [];
  const loader = createPageLoader(
    { follow: (link, from) => followLink(link, from, url) },
    () => ({
      get: async (_, path) => {
        const response = await get(path);
        const contract = resolveAudit(response, configured);
        pages.push({
          ...{ path: path.value, response, contract },
          page: readAuditPage(completeAudit(response, configured.audit), response),
        });
        return response;
      },
    }),
    new AbortController().signal,
  );
  const context = { authorized: loader, contract: configured, reportDrift: () => {} };
  const fetchPage = listAudit(context, pageSizeParameter(configured.audit?.paging));
  await fetchPages(fetchPage, { token: null, position: null, maxPages }, () => true);
  return pages;
}

/** The events of some pages. */
export function eventsOf(pages: readonly TrailPage[]): readonly AuditEvent[] {
  return pages.flatMap(({ page }) =>
    Array.from({ length: page.length }, (_, index) => page.item(index)),
  );
}

/** Completes the contract of the trail from one response. */
function resolveAudit(response: UpstreamResponse, { audit }: ConfiguredContract): AuditContract {
  const { records, total, paging, parameters, event } = completeAudit(response, audit);
  const resolved = resolve(event) as AuditContract['event']; // each function returns its entry
  return { records, total: total(), paging: paging(), parameters, event: resolved };
}

function resolve(part: unknown): unknown {
  if (typeof part === 'function') return part();
  if (!isObject(part)) return part;
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, resolve(value)]));
}

/**
 * Opens a recording as a source of pages.
 * @throws ConfigError if the text is none. Its `get` throws one for a request that was not recorded.
 */
export function openRecording(text: string, file: string): TrailSource & { readonly size: number } {
  const recording = parseRecording(text);
  if (recording === null)
    throw new ConfigError([`${quote(file)} is not a recording of keytrail record.`]);
  return {
    url: new URL(recording.url),
    size: recording.responses.size,
    get: async ({ value }) => {
      const found = findResponse(recording, value);
      if (found !== undefined)
        return decodeResponse({ ...found, body: Buffer.from(found.body) }, 'json');
      const problem = 'has no response to a request that this contract leads to. Record it again.';
      throw new ConfigError([`${quote(file)} ${problem}`]);
    },
  };
}
