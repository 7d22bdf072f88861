import type { Plugin } from 'graphql-yoga';
import { GatewayError } from '../errors.ts';

/** Where GraphQL is. */
export const GRAPHQL_PATH = '/graphql';

/**
 * Answers the paths that are not GraphQL: `/health/live` while the process answers at all, `/health/ready` with 503
 * once it is draining; all else with 404.
 */
export function useRoutes({ draining }: { readonly draining: AbortSignal }): Plugin {
  return {
    onRequest({ url, endResponse, fetchAPI }) {
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
          const { message, extensions } = new GatewayError('BAD_REQUEST', {
            message: `Nothing is here: GraphQL is at ${GRAPHQL_PATH}.`,
          });
          return answer(404, { errors: [{ message, extensions }] });
        }
      }
    },
  };
}
