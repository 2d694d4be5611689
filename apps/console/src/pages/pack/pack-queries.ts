import { queryOptions } from '@tanstack/react-query';
import { isApiError } from '../../api/api-error';
import { draftsRead, packsRead } from '../../api/generated';
import { pollMs } from '../../api/query-client';
import { readWithEtag } from '../../api/versioned';

export const buildPackQuery = (id: string) =>
  queryOptions({
    queryKey: ['packs', 'one', id],
    queryFn: ({ signal }) => readWithEtag((options) => packsRead({ ...options, path: { id }, signal })),
    refetchInterval: pollMs,
  });

/** Null if the pack has no draft. */
export const buildDraftQuery = (id: string) =>
  queryOptions({
    queryKey: ['packs', 'one', id, 'draft'],
    queryFn: async ({ signal }) => {
      try {
        return await draftsRead({ path: { id }, signal });
      } catch (error) {
        if (isApiError(error, 'draft_not_found')) return null;
        throw error;
      }
    },
  });
