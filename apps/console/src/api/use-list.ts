import { type QueryKey, useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { pollMs } from './query-client';

interface Page {
  nextCursor: string | null;
}

interface ListInput<P extends Page, T> {
  queryKey: QueryKey;
  fetchPage: (page: { limit: number; cursor?: string }, signal: AbortSignal) => Promise<P>;
  itemsOf: (page: P) => T[];
}

export interface List<T> {
  items: T[];
  isPending: boolean;
  error: Error | null;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore: () => void;
  retry: () => void;
}

const pageSize = 100;

/** A list of the API, page after page as it is scrolled. */
export function useList<P extends Page, T>({ queryKey, fetchPage, itemsOf }: ListInput<P, T>): List<T> {
  const query = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => fetchPage({ limit: pageSize, cursor: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    // Somebody who has scrolled far reads; all those pages again would be a burden to both sides.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) <= 2 ? pollMs : false),
    placeholderData: (previous) => previous,
  });
  const { data, fetchNextPage, hasNextPage, isFetchingNextPage } = query;
  const items = useMemo(() => data?.pages.flatMap(itemsOf) ?? [], [data, itemsOf]);
  return {
    items,
    isPending: query.isPending,
    error: query.isError ? query.error : null,
    hasMore: hasNextPage,
    isLoadingMore: isFetchingNextPage,
    loadMore: () => void (hasNextPage && !isFetchingNextPage && fetchNextPage()),
    retry: () => void query.refetch(),
  };
}
