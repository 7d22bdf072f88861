import type { Plugin } from 'graphql-yoga';
import { GatewayError, toResult } from '../errors.ts';

/** Where GraphQL is. */
export const GRAPHQL_PATH = '/graphql';

/**
 * Answers the paths that are not GraphQL: `/health/live` while the process answers at all, `/health/ready` with 503
 * once it is draining; all else with 404.
 */
export function useRoutes({
  draining,
}: {
  readonly draining: AbortSignal;
}): Plugin<object, { requestId: string }> {
  return {
    onRequest({ url, serverContext, endResponse, fetchAPI }) {
      const answer = (status: number, body: object) =>
        endResponse(fetchAPI.Response.json(body, { status }));
      switch (url.pathname) {
        case GRAPHQL_PATH:
          return;
        case '/health/live':
          return answer(200, { status: 'live' });
        case '/health/ready':
          return draining.aborted
            ? answer(503, { status: 'draining' })
            : answer(200, { status: 'ready' });
        default: {
          const message = `Nothing is here: GraphQL is at ${GRAPHQL_PATH}.`;
          const error = new GatewayError('BAD_REQUEST', { message });
          return answer(404, toResult(error, serverContext.requestId));
        }
      }
    },
  };
}
