import type { Plugin } from 'graphql-yoga';
import { HTML, prefersPage } from '../http/media-types.ts';
import { type Page, renderPage } from './playground/page.ts';
import { createTabs, type PlaygroundOptions } from './playground/tabs.ts';

export type { PlaygroundOptions };

/** Serves GraphiQL to browsers, without any other host. It is loaded into memory at the first request for it. */
export function usePlayground(path: string, options: PlaygroundOptions): Plugin {
  let page: Promise<Page> | undefined;
  return {
    async onRequest({ request, url, endResponse, fetchAPI }) {
      if (request.method !== 'GET' || url.pathname !== path) return;
      if (!prefersPage(request.headers.get('accept'))) return;
      page ??= renderPage(createTabs(options));
      const { html, contentSecurityPolicy } = await page;
      const headers = {
        'content-type': `${HTML}; charset=utf-8`,
        'content-security-policy': contentSecurityPolicy,
        'referrer-policy': 'no-referrer',
      };
      endResponse(new fetchAPI.Response(html, { headers }));
    },
  };
}
