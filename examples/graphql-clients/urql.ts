import { Client, fetchExchange } from '@urql/core';
import { createCache } from './graphcache.ts';

/** Creates a client with a normalizing cache. */
export const createClient = (url: string, token: string) =>
  new Client({
    url,
    preferGetMethod: false,
    fetchOptions: { headers: { authorization: `Bearer ${token}` } },
    exchanges: [createCache(), fetchExchange],
  });
