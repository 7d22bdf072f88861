import { cacheExchange, type Resolver } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';

const joinPages = relayPagination();

// A filtered page may be empty and have a next page. `relayPagination` ignores empty pages, and so their `endCursor`.
const audit: Resolver = (parent, args, cache, info) =>
  args['filter'] ? cache.resolve('Query', 'audit', args) : joinPages(parent, args, cache, info);

/** Creates a cache that keeps events apart, and joins the pages of a trail. */
export const createCache = () =>
  cacheExchange({
    keys: {
      ApiKey: ({ clientId }) => (clientId == null ? null : String(clientId)), // null if it was not requested
      AuditEvent: () => null, // its ID may be null, or that of another event
      AuditParty: () => null,
    },
    resolvers: { Query: { audit } },
    updates: {
      Mutation: {
        // If the deletion failed, too: after OUTCOME_UNKNOWN the key may be deleted.
        deleteApiKey: (_result, _args, cache) => {
          for (const { fieldName, arguments: args } of cache.inspectFields('Query'))
            if (fieldName === 'audit') cache.invalidate('Query', fieldName, args);
        },
      },
    },
  });
