import { STATUS_CODES } from 'node:http';
import type { MappedPage } from '../../gateway/api/read-trail.ts';
import type { UpstreamResponse } from '../../util/upstream-response.ts';

/** Formats pages, and the response to a login, as a HAR 1.2. */
export function formatHar(
  url: URL,
  pages: readonly Pick<MappedPage, 'path' | 'response'>[],
  login: UpstreamResponse | null,
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
  const log = { version: '1.2', creator: { name: 'keytrail', version }, entries };
  return `${JSON.stringify({ log }, null, 2)}\n`;
}
