import Negotiator from 'negotiator';

/** The media types of a GraphQL response, the default first. */
export const RESPONSE_TYPES = ['application/json', 'application/graphql-response+json'] as const;

/** The media type of server-sent events, in which subscriptions are sent. */
export const EVENT_STREAM = 'text/event-stream';

/** The media type of the playground. */
export const HTML = 'text/html';

/** What a GET of the playground's path may respond with. */
const PAGE_TYPES = [...RESPONSE_TYPES, HTML];

/** All responses are in UTF-8. A range that names another charset matches none of them. */
const CHARSET = '; charset=utf-8';

/**
 * Chooses the media type that the client prefers by its Accept header (RFC 9110, section 12.5.1): the most specific range
 * decides on a type, `q=0` excludes it. Types of the same quality are taken as the client ordered them, then as given.
 * Without the header, every type is acceptable. Returns undefined if none is.
 */
export function preferMediaType<Type extends string>(
  accept: string | null | undefined,
  types: readonly Type[],
): Type | undefined {
  const negotiator = new Negotiator({ headers: { accept: accept || '*/*' } });
  const preferred = negotiator.mediaType(types.map((type) => `${type}${CHARSET}`));
  return types.find((type) => preferred === `${type}${CHARSET}`);
}

/** Whether a client prefers a page over JSON, as browsers do. */
export function prefersPage(accept: string | null | undefined): boolean {
  return preferMediaType(accept, PAGE_TYPES) === HTML;
}
