import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { isApiError } from './api-error';

/** Nothing is asked for more often than this; what is newer comes through the event streams. */
export const pollMs = 15_000;

export function makeQueryClient(signedOut: () => void): QueryClient {
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
        // What the service has refused it refuses again; what it could not be asked is asked once it is there.
        retry: (failures, error) => failures < 2 && isApiError(error) && (error.status === 503 || error.status === 429),
        networkMode: 'always',
      },
      mutations: { networkMode: 'always' },
    },
  });
}
