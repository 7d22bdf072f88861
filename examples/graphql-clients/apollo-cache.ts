import { InMemoryCache } from '@apollo/client';
import { relayStylePagination } from '@apollo/client/utilities';

/** Creates a cache that keeps events apart, and joins the pages of a trail. */
export const createCache = () =>
  new InMemoryCache({
    typePolicies: {
      AuditEvent: { keyFields: false }, // its ID may be null, or that of another event
      ApiKey: { keyFields: ['clientId'] },
      Query: { fields: { audit: relayStylePagination(['filter', 'parameters']) } },
    },
  });
