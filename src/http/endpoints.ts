import type { IncomingMessage } from 'node:http';
import type { RequestOutcome } from '../observability/observer.ts';

/** Path of the GraphQL endpoint, unless a program chooses another. */
export const GRAPHQL_PATH = '/graphql';

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

/** A request of a Node server, with what frameworks add to it. */
export type NodeRequest = IncomingMessage & {
  /** The path that the client requested: Express cuts the path of a mount off `url`. */
  readonly originalUrl?: unknown;
  /** What a body parser has read. */
  readonly body?: unknown;
};

/** The path of a request, with its query, as the client sent it. */
export function targetOf({ originalUrl, url = '' }: NodeRequest): string {
  return typeof originalUrl === 'string' ? originalUrl : url;
}

const METHODS = ['GET', 'POST', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'PATCH', 'CONNECT', 'TRACE'];

/** `http.route` of every path that is not one of the gateway's. */
export const OTHER_ROUTE = '/*';

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
