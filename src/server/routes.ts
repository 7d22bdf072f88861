import type { IncomingMessage } from 'node:http';
import type { RequestOutcome } from '../observability/observer.ts';

/** Path of the GraphQL endpoint. */
export const GRAPHQL_PATH = '/graphql';

/** The method and the route of a request, without any text of the client. */
export type Endpoint = Required<Pick<RequestOutcome, 'method' | 'route'>>;

/** The path of a request, with its query, as the client sent it. Express cuts the mount path off `url`. */
export function targetOf(request: IncomingMessage & { readonly originalUrl?: string }): string {
  return request.originalUrl ?? request.url ?? '';
}

/** For a path that is none of {@link ROUTES}. */
export const NOT_FOUND = `Not found: GraphQL is at ${GRAPHQL_PATH}.`;

const METHODS = ['GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'CONNECT', 'TRACE'];

/** `http.route` of every path that is not one of the gateway's. */
export const OTHER_ROUTE = '/*';

const ROUTES = [GRAPHQL_PATH, '/health/live', '/health/ready', '/'];

/**
 * Reduces a request to values of fixed lists: OpenTelemetry's `http.request.method`, which is `_OTHER` for an unknown
 * method, and `http.route`, here `/*` for an unknown path. `target` is a path, with or without a query.
 */
export function toEndpoint(method: string | undefined, target: string): Endpoint {
  const end = target.indexOf('?');
  const path = end === -1 ? target : target.slice(0, end);
  return {
    method: method !== undefined && METHODS.includes(method) ? method : '_OTHER',
    route: ROUTES.includes(path) ? path : OTHER_ROUTE,
  };
}
