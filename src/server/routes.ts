import type { RequestOutcome } from '../observability/observer.ts';

/** Path of the GraphQL endpoint. */
export const GRAPHQL_PATH = '/graphql';

/** The method and the route of a request, without any text of the client. */
export type Endpoint = Required<Pick<RequestOutcome, 'method' | 'route'>>;

const METHODS = ['GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'CONNECT', 'TRACE'];

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
    route: ROUTES.includes(path) ? path : '/*',
  };
}
