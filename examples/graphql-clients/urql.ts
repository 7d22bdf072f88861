import { Client, fetchExchange } from '@urql/core';
import { createCache } from './graphcache.ts';

/** Creates a client with a normalizing cache. It reads subscriptions as server-sent events by itself. */
export const createClient = (url: string, token: string) =>
  new Client({
    url,
    preferGetMethod: false,
    fetchSubscriptions: true,
    fetchOptions: { headers: { authorization: `Bearer ${token}` } },
    exchanges: [createCache(), fetchExchange],
  });
