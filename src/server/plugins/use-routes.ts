import type { Plugin } from 'graphql-yoga';
import { GatewayError, toErrorBody } from '../../errors.ts';
import type { RequestIdContext } from './use-request-id.ts';

/** Path of the GraphQL endpoint. */
export const GRAPHQL_PATH = '/graphql';

/**
 * Responds to the paths other than GraphQL's: `/health/live` with 200, `/health/ready` with 200, or 503 while draining or
 * overloaded, any other path with 404.
 */
export function useRoutes(
  draining: AbortSignal,
  isShedding: () => boolean,
): Plugin<object, RequestIdContext> {
  return {
    onRequest({ url, serverContext, endResponse, fetchAPI }) {
      const respond = (status: number, body: object) =>
        endResponse(fetchAPI.Response.json(body, { status }));
      switch (url.pathname) {
        case GRAPHQL_PATH:
          return;
        case '/health/live':
          return respond(200, { status: 'live' });
        case '/health/ready':
          if (draining.aborted) return respond(503, { status: 'draining' });
          return isShedding()
            ? respond(503, { status: 'overloaded' })
            : respond(200, { status: 'ready' });
        default: {
          const message = `Not found: GraphQL is at ${GRAPHQL_PATH}.`;
          const error = new GatewayError('BAD_REQUEST', { message });
          return respond(404, toErrorBody(error, serverContext.requestId));
        }
      }
    },
  };
}
