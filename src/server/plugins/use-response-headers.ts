import type { Plugin } from 'graphql-yoga';

/** On every answer: nobody may store it (it may hold tokens) or take it for another type than it says. */
export const RESPONSE_HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
} as const;

/** Puts {@link RESPONSE_HEADERS} on every answer. */
export function useResponseHeaders(): Plugin {
  return {
    onResponse({ response }) {
      for (const [name, value] of Object.entries(RESPONSE_HEADERS))
        response.headers.set(name, value);
    },
  };
}
