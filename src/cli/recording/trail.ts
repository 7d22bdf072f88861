import { ConfigError } from '../../config/config-error.ts';
import { quote } from '../../config/value-types.ts';
import { completeAudit, completeContract } from '../../inference/complete-contract.ts';
import { readAuditPage } from '../../mapping/audit-page.ts';
import type { AuditContract, ConfiguredContract } from '../../mapping/contract.ts';
import type { AuditEvent } from '../../mapping/event.ts';
import { fetchPages } from '../../pagination/fetch-pages.ts';
import { pageSizeParameter } from '../../pagination/resolve-connection.ts';
import { findResponse, parseRecording, type Recording } from '../../sandbox/recording.ts';
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
): Promise<readonly TrailPage[]> {
  const pages: TrailPage[] = [];
  const loader = createPageLoader(
    { follow: (link, from) => followLink(link, from, url) },
    () => ({
      get: async (_, path) => {
        const response = await get(path);
        const page = readAuditPage(completeAudit(response, configured.audit), response);
        pages.push({
          ...{ path: path.value, response, contract: completeContract(response, configured).audit },
          events: Array.from({ length: page.length }, (_, index) => page.item(index)),
        });
        return response;
      },
    }),
    new AbortController().signal,
  );
  const context = { authorized: loader, contract: configured, reportDrift: () => {} };
  const fetchPage = listAudit(context, pageSizeParameter(configured.audit?.paging));
  await fetchPages(fetchPage, { token: null, position: null, maxPages }, async () => true);
  return pages;
}

/** The events of some pages. */
export function eventsOf(pages: readonly TrailPage[]): readonly AuditEvent[] {
  return pages.flatMap(({ events }) => events);
}

/**
 * Opens a recording as a source of pages.
 * @throws ConfigError if the text is none, or has an entry that cannot be played back. Its `get` throws one for a request that was not recorded.
 */
export function openRecording(text: string, file: string) {
  const recording = parse(text, file);
  return {
    url: new URL(recording.url),
    size: recording.responses.size,
    get: async ({ value }: Path) => {
      const found = findResponse(recording, value);
      if (found !== undefined)
        return decodeResponse({ ...found, body: Buffer.from(found.body) }, 'list');
      const problem = 'has no response to a request that this contract leads to. Record it again.';
      throw new ConfigError([`${quote(file)} ${problem}`]);
    },
  };
}

function parse(text: string, file: string): Recording {
  try {
    return parseRecording(text);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ConfigError([`${quote(file)}: ${error.message}`]);
  }
}
