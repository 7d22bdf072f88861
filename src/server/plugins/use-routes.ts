import type { Plugin } from 'graphql-yoga';
import { GatewayError, toErrorBody } from '../../errors.ts';

/** Where GraphQL is. */
export const GRAPHQL_PATH = '/graphql';

/**
 * Answers the paths that are not GraphQL: `/health/live` while the process answers at all, `/health/ready` with 503
 * while it is draining or has more to do than it can; all else with 404.
 */
export function useRoutes({
  draining,
  isShedding,
}: {
  readonly draining: AbortSignal;
  readonly isShedding: () => boolean;
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
          if (draining.aborted) return answer(503, { status: 'draining' });
          return isShedding()
            ? answer(503, { status: 'overloaded' })
            : answer(200, { status: 'ready' });
        default: {
          const message = `Nothing is here: GraphQL is at ${GRAPHQL_PATH}.`;
          const error = new GatewayError('BAD_REQUEST', { message });
          return answer(404, toErrorBody(error, serverContext.requestId));
        }
      }
    },
  };
}
