import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { isApiError } from './api-error';

/** Polling interval in milliseconds; the event streams report changes sooner. */
export const pollMs = 15_000;

export function createQueryClient(signedOut: () => void): QueryClient {
  const onError = (error: unknown) => {
    if (isApiError(error, 'unauthenticated')) signedOut();
  };
  return new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: {
        staleTime: 5000,
        refetchOnWindowFocus: true,
        // A repeated request would get the same error response. After a lost connection, `onReconnect` refetches.
        retry: (failures, error) => failures < 2 && isApiError(error) && (error.status === 503 || error.status === 429),
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  });
}
