import type { Plugin } from 'graphql-yoga';
import { GatewayError } from '../../errors.ts';
import { prefersPage, type Routes } from '../http/request-head.ts';
import { type PlaygroundOptions, renderPlayground } from './playground/page.ts';
import { toErrorResponse } from './use-error-codes.ts';
import type { RequestLogContext } from './use-request-report.ts';

/** What {@link useRoutes} responds with. */
export type RouteOptions = Pick<Routes, 'graphql' | 'notFound'> & {
  /** Null disables the playground. */
  readonly playground: PlaygroundOptions | null;
  /** Aborted when the shutdown begins. Null disables the health checks. */
  readonly draining: AbortSignal | null;
  readonly isShedding: () => boolean;
};

/**
 * Responds to what is not a GraphQL request: to a browser's GET of the GraphQL path with the playground, to `/health/live`
 * with 200, to `/health/ready` with 200, or 503 while draining or overloaded, to any other path with 404.
 */
export function useRoutes(options: RouteOptions): Plugin<object, RequestLogContext> {
  const { graphql, notFound, playground, draining, isShedding } = options;
  let page: ReturnType<typeof renderPlayground> | undefined; // in memory from its first request on
  return {
    async onRequest(hook) {
      const { request, url, endResponse, fetchAPI } = hook;
      const { pathname } = url;
      if (pathname === graphql) {
        if (playground === null || request.method !== 'GET') return;
        if (!prefersPage(request.headers.get('accept'))) return;
        page ??= renderPlayground(playground);
        const { html, headers } = await page;
        return endResponse(new fetchAPI.Response(html, { headers }));
      }
      const respond = (status: number, body: object) =>
        endResponse(fetchAPI.Response.json(body, { status }));
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
