import type { Plugin } from 'graphql-yoga';
import { GatewayError } from '../../errors.ts';
import { GRAPHQL_PATH, NOT_FOUND } from '../routes.ts';
import { toErrorResponse } from './use-error-codes.ts';
import type { RequestLogContext } from './use-request-report.ts';

/**
 * Responds to the paths other than GraphQL's: `/health/live` with 200, `/health/ready` with 200, or 503 while draining or
 * overloaded, any other path with 404.
 */
export function useRoutes(
  draining: AbortSignal,
  isShedding: () => boolean,
): Plugin<object, RequestLogContext> {
  return {
    onRequest(hook) {
      const { url, endResponse, fetchAPI } = hook;
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
          const error = new GatewayError('BAD_REQUEST', { message: NOT_FOUND });
          return endResponse(toErrorResponse(error, { status: 404 }, hook));
        }
      }
    },
  };
}
