import { STATUS_CODES } from 'node:http';
import type { MappedPage } from '../../gateway/api/read-trail.ts';
import type { ConfiguredContract } from '../../gateway/mapping/contract.ts';
import { identityText } from '../../gateway/mapping/identity-text.ts';
import { digest } from '../../util/digest.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';

/** Identifies how a contract reads a trail: equal for contracts that read it in the same way. */
export const digestContract = ({ audit = {} }: ConfiguredContract): string =>
  digest(identityText({ raw: audit }));

/** Formats pages, and the response to a login, as a HAR 1.2. */
export function formatHar(
  url: URL,
  pages: readonly Pick<MappedPage, 'path' | 'response'>[],
  login: UpstreamResponse | null,
  contract: ConfiguredContract,
  { version, now }: { readonly version: string; now(): Date },
): string {
  const message = { httpVersion: 'HTTP/1.1', cookies: [], headersSize: -1, bodySize: -1 };
  const toPairs = (entries: Iterable<readonly [string, unknown]>) =>
    [...entries].map(([name, value]) => ({ name, value }));
  const toEntry = (method: string, path: string, { status, headers, body }: UpstreamResponse) => {
    const { href, searchParams } = new URL(`${url.href.replace(/(?<!\/)\/+$/, '')}${path}`);
    const text = JSON.stringify(body);
    return {
      startedDateTime: now().toISOString(),
      time: 0,
      request: { method, url: href, ...message, headers: [], queryString: toPairs(searchParams) },
      response: {
        ...{ status, statusText: STATUS_CODES[status] ?? '', ...message, redirectURL: '' },
        headers: toPairs(Object.entries(headers)),
        content: { size: Buffer.byteLength(text), mimeType: 'application/json', text },
      },
      cache: {},
      timings: { send: 0, wait: 0, receive: 0 },
    };
  };
  const entries = [
    ...(login === null ? [] : [toEntry('POST', '/api/v1/auth/login', login)]),
    ...pages.map(({ path, response }) => toEntry('GET', path, response)),
  ];
  // A member of HAR's own has no underscore (HAR 1.2, "Custom fields").
  const _keytrail = { contract: digestContract(contract) };
  const log = { version: '1.2', creator: { name: 'keytrail', version }, _keytrail, entries };
  return `${JSON.stringify({ log }, null, 2)}\n`;
}
