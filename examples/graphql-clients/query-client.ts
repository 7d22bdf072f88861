import { QueryClient } from '@tanstack/query-core'; // or of @tanstack/react-query
import { KeytrailError } from './keytrail-error.ts';

/** Creates a client that repeats a failed query only if that can help. By default, it never repeats a mutation. */
export const createQueryClient = () =>
  new QueryClient({
    defaultOptions: {
      queries: {
        retry: (failures, error) =>
          failures < 3 && (!(error instanceof KeytrailError) || error.retryable),
        retryDelay: (failures, error) =>
          1000 * ((error instanceof KeytrailError && error.retryAfterSeconds) || 2 ** failures),
      },
    },
  });
