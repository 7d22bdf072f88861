import { stringify } from 'node:querystring';
import { findResponse, type RecordedResponse, type Recording } from '../../util/recording.ts';

/** A request to a recording, with the host that it was sent to. */
type RecordedRequest = {
  readonly path: string;
  readonly query: NonNullable<Parameters<typeof stringify>[0]>;
  readonly headers: { readonly host?: string | undefined };
};

/** Plays back the response to a GET; null if there is none. Links to pages lead to the host of the request instead. */
export function playBack(
  recording: Recording,
  { path, query, headers: { host } }: RecordedRequest,
): RecordedResponse | null {
  const found = findResponse(recording, `${path}?${stringify(query)}`);
  if (found === undefined) return null;
  const { origin, pathname } = new URL(`${recording.url}${path}`);
  // A service behind a reverse proxy may not know the start of its path.
  const isPage = (from: string, to: string) =>
    from === origin && (pathname.endsWith(to) || to.endsWith(path));
  return JSON.parse(
    JSON.stringify(found).replace(LINKS, (text, before, from, to) =>
      isPage(from, to) ? `${before}http://${host}${to}?` : text,
    ),
  );
}

/**
 * The first link in each text before a question mark. Texts without one are skipped as a whole: from each link in them,
 * a long one takes quadratic time.
 */
const LINKS = /(?<![^"<>?])(?=[^"<>?]*\?)([^"<>?]*?)(https?:\/\/[^"<>/?]+)(\/[^"<>?]*)\?/g;
