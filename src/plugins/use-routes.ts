import type { Plugin } from 'graphql-yoga';
import { GatewayError } from '../errors.ts';
import type { Routes } from '../http/endpoints.ts';
import { toErrorResponse } from './use-error-codes.ts';
import type { RequestLogContext } from './use-request-report.ts';

/**
 * Responds to the paths other than GraphQL's: `/health/live` with 200, `/health/ready` with 200, or 503 while draining or
 * overloaded, any other path with 404. Without `draining` there are no health checks.
 */
export function useRoutes(
  { graphql, notFound }: Pick<Routes, 'graphql' | 'notFound'>,
  draining: AbortSignal | null,
  isShedding: () => boolean,
): Plugin<object, RequestLogContext> {
  return {
    onRequest(hook) {
      const { url, endResponse, fetchAPI } = hook;
      const respond = (status: number, body: object) =>
        endResponse(fetchAPI.Response.json(body, { status }));
      const { pathname } = url;
      if (pathname === graphql) return;
      if (draining !== null && pathname === '/health/live') return respond(200, { status: 'live' });
      if (draining !== null && pathname === '/health/ready') {
        if (draining.aborted) return respond(503, { status: 'draining' });
        return isShedding()
          ? respond(503, { status: 'overloaded' })
          : respond(200, { status: 'ready' });
      }
      const error = new GatewayError('BAD_REQUEST', { message: notFound });
      endResponse(toErrorResponse(error, { status: 404 }, hook));
    },
  };
}
