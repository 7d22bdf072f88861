/** A response of a recording. */
export type RecordedResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

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
      const [, base, path = ''] = /^(https?:\/\/[^?#]*?)(\/api\/v1\/.*)$/.exec(request.url) ?? [];
      if (base === undefined || request.method !== 'GET') continue;
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

/** The response to a path, which may have a query; the order of its parameters does not matter. */
export function findResponse({ responses }: Recording, path: string): RecordedResponse | undefined {
  return responses.get(toKey(path));
}

/** A request, as far as playback needs it. */
type ReadRequest = {
  readonly path: string;
  readonly query: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly headers: { readonly host?: string | undefined };
};

/** Plays back the response to a GET; null if there is none. Links to pages lead to the host of the request instead. */
export function playBack(recording: Recording, request: ReadRequest): RecordedResponse | null {
  const pairs = Object.entries(request.query).flatMap(([name, value = '']) =>
    [value].flat().map((one) => [name, one]),
  );
  const found = findResponse(recording, `${request.path}?${new URLSearchParams(pairs)}`);
  if (found === undefined) return null;
  const { origin, pathname } = new URL(`${recording.url}${request.path}`);
  const localize = (text: string) =>
    text.replace(LINK_WITH_QUERY, (link, start, host, path) => {
      const isPage = host === origin && (pathname.endsWith(path) || path.endsWith(request.path));
      return isPage ? `${start}http://${request.headers.host}${path}?` : link;
    });
  const headers = Object.entries(found.headers).map(([name, value]) => [name, localize(value)]);
  return { ...found, headers: Object.fromEntries(headers), body: localize(found.body) };
}

/** The start of a link, in JSON or in a `Link` header. */
const LINK_WITH_QUERY = /(["<])(https?:\/\/[^"<>/?]+)(\/[^"<>?]*)\?/g;

function toKey(target: string): string {
  const [path, query] = target.split(/\?(.*)/s);
  return [path, ...new URLSearchParams(query).toString().split('&').toSorted()].join('&');
}
