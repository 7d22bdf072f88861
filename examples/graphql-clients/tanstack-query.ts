import type { QueryClient } from '@tanstack/query-core';
import {
  AuditDocument,
  type AuditQuery,
  type AuditQueryVariables,
  DeleteApiKeyDocument,
  type RequestOptions,
  request,
} from 'keytrail-client';
import { dataOf } from './keytrail-error.ts';

/** Options of an infinite query: the pages of a trail. */
export const auditPages = (options: RequestOptions, variables: AuditQueryVariables = {}) => ({
  queryKey: ['audit', variables] as const,
  queryFn: async ({ pageParam: after }: { readonly pageParam: string | null }) =>
    dataOf(await request(AuditDocument, { ...variables, after }, options)),
  initialPageParam: null,
  getNextPageParam: ({ audit }: AuditQuery) =>
    audit?.pageInfo.hasNextPage ? audit.pageInfo.endCursor : null,
});

/** Options of a mutation: deletes an API key, then reads the trail again. If it failed, too: it may be OUTCOME_UNKNOWN. */
export const keyDeletion = (options: RequestOptions, client: QueryClient) => ({
  mutationFn: async (clientId: string) =>
    dataOf(await request(DeleteApiKeyDocument, { clientId }, options)),
  onSettled: () => client.invalidateQueries({ queryKey: ['audit'] }),
});
