import type { IncomingMessage } from 'node:http';
import Negotiator from 'negotiator';
import { GatewayError } from '../../errors.ts';
import type { RequestOutcome } from '../observability/observer.ts';

/** A request of a Node server, with what frameworks add to it. */
export type NodeRequest = IncomingMessage & {
  /** The path that the client requested: Express cuts the path of a mount off `url`. */
  readonly originalUrl?: unknown;
  /** What a body parser has read. */
  readonly body?: unknown;
};

/** The method and the route of a request, without any text of the client. */
export type Endpoint = Required<Pick<RequestOutcome, 'method' | 'route'>>;

/** The paths of a gateway. */
export type Routes = {
  /** Path of the GraphQL endpoint. */
  readonly graphql: string;
  /**
   * Reduces a request to values of fixed lists: OpenTelemetry's `http.request.method`, which is `_OTHER` for an unknown
   * method, and `http.route`, here `/*` for an unknown path. `target` is a path, with or without a query.
   */
  toEndpoint(method: string | undefined, target: string): Endpoint;
  /** Message for any other path. */
  readonly notFound: string;
};

const METHODS = ['GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'CONNECT', 'TRACE'];

/** `http.route` of every path that is not one of the gateway's. */
const OTHER_ROUTE = '/*';

/** The paths of the command beside GraphQL's: `/` redirects to the playground. */
const COMMAND_ROUTES = ['/health/live', '/health/ready', '/'];

/** Creates the routes of a gateway in the command, or of one in a program, which has a GraphQL endpoint only. */
export function createRoutes(graphql: string, isCommand: boolean): Routes {
  const routes = [graphql, ...(isCommand ? COMMAND_ROUTES : [])];
  const notFound = `Not found: GraphQL is at ${graphql}.`;
  return {
    graphql,
    toEndpoint: (method, target) => {
      const end = target.indexOf('?');
      const path = end === -1 ? target : target.slice(0, end);
      return {
        method: method !== undefined && METHODS.includes(method) ? method : '_OTHER',
        route: routes.includes(path) ? path : OTHER_ROUTE,
      };
    },
    notFound: isCommand ? notFound : `${notFound} ${MOUNTED}`,
  };
}

const MOUNTED = 'If it is mounted at another path, pass the whole path to createGateway as `path`.';

/** A host and an optional port (RFC 9110, section 7.2). */
const AUTHORITY = /(?:[\w.-]+|\[[\da-f:.]+\])(?::\d*)?/.source;

const HOST = new RegExp(`^${AUTHORITY}$`, 'i');

/** What an absolute form has before its path. */
const BEFORE_PATH = new RegExp(`^https?://${AUTHORITY}(?=[/?]|$)`, 'i');

/**
 * The path of a request, with its query, as the client sent it. Of an absolute form, as clients send it to proxies, the
 * authority is ignored: a gateway has no others (RFC 9112, section 3.2.2). Any other target is returned unchanged.
 */
export function targetOf({
  originalUrl,
  url = '',
}: Pick<NodeRequest, 'originalUrl' | 'url'>): string {
  const target = typeof originalUrl === 'string' ? originalUrl : url;
  if (target.startsWith('/')) return target;
  const [before] = BEFORE_PATH.exec(target) ?? [];
  if (before === undefined) return target;
  const path = target.slice(before.length);
  return path.startsWith('/') ? path : `/${path}`;
}

/**
 * Checks what Node's parser accepts but Yoga misreads or throws at: the Host header, the request target, and that there
 * is at most one Authorization header. Other spellings of a route are not found: Yoga would take `/./graphql` for
 * `/graphql`, of which nothing else in the gateway knows. Returns what is wrong, undefined if the head is valid.
 */
export function validateHead(
  request: NodeRequest,
  { method, route }: Endpoint,
  { toEndpoint, notFound }: Pick<Routes, 'toEndpoint' | 'notFound'>,
): { readonly error: GatewayError; readonly status: 400 | 404 } | undefined {
  const message = describeInvalidHead(request);
  if (message !== undefined)
    return { error: new GatewayError('BAD_REQUEST', { message }), status: 400 };
  if (route !== OTHER_ROUTE) return undefined;
  const { pathname } = new URL(`http://localhost${targetOf(request)}`);
  if (toEndpoint(method, pathname).route === OTHER_ROUTE) return undefined;
  return { error: new GatewayError('BAD_REQUEST', { message: notFound }), status: 404 };
}

function describeInvalidHead(request: NodeRequest): string | undefined {
  const { httpVersion, headers, rawHeaders } = request;
  const url = targetOf(request);
  const { host = 'localhost' } = headers;
  const hosts = countHeader(rawHeaders, 'host');
  const isMissing = hosts === 0 && httpVersion === '1.1';
  const isTarget = url.startsWith('/') && URL.canParse(`http://${host}${url}`);
  if (isMissing || hosts > 1 || !HOST.test(host) || !(isTarget || URL.canParse(`http://${host}`))) {
    return 'Send exactly one Host header, with a host and an optional port.';
  }
  if (!isTarget) return 'The request target must be a path, such as /graphql.';
  return countHeader(rawHeaders, 'authorization') > 1
    ? 'Send only one Authorization header.'
    : undefined;
}

/** Node's `headers` merges or drops repeated headers, so this reads the raw list of names and values. */
function countHeader(rawHeaders: readonly string[], name: string): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const header = rawHeaders[index];
    if (header?.length === name.length && header.toLowerCase() === name) count += 1;
  }
  return count;
}

/** The media types of a GraphQL response, the default first. */
export const RESPONSE_TYPES = ['application/json', 'application/graphql-response+json'] as const;

/** The media type of server-sent events, in which subscriptions are sent. */
export const EVENT_STREAM = 'text/event-stream';

/** What a GET of the playground's path may respond with. */
const PAGE_TYPES = [...RESPONSE_TYPES, 'text/html'];

/** A parameter of a media type (RFC 9110, section 5.6.6): its name and its value, which may be quoted. */
const PARAMETER = /;\s*([^\s;,="]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"|[^\s;,"]*))?/g;

/**
 * Chooses the media type that the client prefers by its Accept header (RFC 9110, section 12.5.1): the most specific range
 * decides on a type, `q=0` excludes it. Types of the same quality are taken as the client ordered them, then as given.
 * Other parameters are ignored: JSON has no charset (RFC 8259, section 11) and no version. Without the header, every type
 * is acceptable. Returns undefined if none is.
 */
export function preferMediaType<Type extends string>(
  accept: string | null | undefined,
  types: readonly Type[],
): Type | undefined {
  const ranges = (accept || '*/*').replace(PARAMETER, (_, name: string, value = '') =>
    name.toLowerCase() === 'q' ? `;q=${value}` : '',
  );
  const preferred = new Negotiator({ headers: { accept: ranges } }).mediaType([...types]);
  return types.find((type) => preferred === type);
}

/** Whether a Content-Type names no other charset than UTF-8. */
export function isUtf8(contentType: string): boolean {
  return [...contentType.matchAll(PARAMETER)].every(
    ([, name = '', value = '']) =>
      name.toLowerCase() !== 'charset' || /^"?utf-?8"?$/i.test(value.replaceAll('\\', '')), // a quoted value may have escapes
  );
}

/** Whether a client prefers a page over JSON, as browsers do. */
export function prefersPage(accept: string | null | undefined): boolean {
  return preferMediaType(accept, PAGE_TYPES) === 'text/html';
}
