import type { Plugin } from 'graphql-yoga';

/** Headers of every response. No cache may store it (it may contain tokens), no browser may guess its content type. */
export const RESPONSE_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

/** Adds {@link RESPONSE_HEADERS} to every response of Yoga. */
export function useResponseHeaders(): Plugin {
  return {
    onResponse({ response }) {
      for (const [name, value] of Object.entries(RESPONSE_HEADERS))
        response.headers.set(name, value);
    },
  };
}
