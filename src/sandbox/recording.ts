import { stringify } from 'node:querystring';
import type { RestRequest, RestResponse } from './routes.ts';

/** A response of a recording. */
export type RecordedResponse = Required<RestResponse> & { readonly body: string };

/** Responses of a service to GET requests. */
export type Recording = {
  /** What precedes `/api/v1` in the URLs of the service. */
  readonly url: string;
  /** By path, with the parameters of the query in order. */
  readonly responses: ReadonlyMap<string, RecordedResponse>;
};

/** Parses a HAR 1.2; null if the text is none, or has no response to a GET below `/api/v1`. */
export function parseRecording(text: string): Recording | null {
  try {
    const responses = new Map<string, RecordedResponse>();
    let url: string | undefined;
    for (const { request, response } of JSON.parse(text).log.entries) {
      const [, base, path = ''] = READ.exec(`${request.method} ${request.url}`) ?? [];
      if (base === undefined) continue;
      url ??= base;
      const headers = new Headers();
      for (const { name, value } of response.headers) headers.append(name, value);
      responses.set(toKey(path), {
        status: Number(response.status),
        headers: Object.fromEntries(headers),
        body: String(response.content.text ?? ''),
      });
    }
    return url === undefined ? null : { url, responses };
  } catch {
    return null;
  }
}

const READ = /^GET (https?:\/\/[^?#]*?)(\/api\/v1\/.*)$/;

/** The response to a path, which may have a query; the order of its parameters does not matter. */
export function findResponse({ responses }: Recording, path: string): RecordedResponse | undefined {
  return responses.get(toKey(path));
}

/** Plays back the response to a GET; null if there is none. Links to pages lead to the host of the request instead. */
export function playBack(
  recording: Recording,
  { path, query, headers: { host } }: RestRequest,
): RecordedResponse | null {
  const found = findResponse(recording, `${path}?${stringify(query)}`);
  if (found === undefined) return null;
  const { origin, pathname } = new URL(`${recording.url}${path}`);
  // A service behind a reverse proxy may not know the start of its path.
  const isPage = (from: string, to: string) =>
    from === origin && (pathname.endsWith(to) || to.endsWith(path));
  return JSON.parse(
    JSON.stringify(found).replace(/(https?:\/\/[^"<>/?]+)(\/[^"<>?]*)\?/g, (link, from, to) =>
      isPage(from, to) ? `http://${host}${to}?` : link,
    ),
  );
}

function toKey(target: string): string {
  const [path, query] = target.split(/\?(.*)/s);
  return [path, ...new URLSearchParams(query).toString().split('&').toSorted()].join('&');
}
