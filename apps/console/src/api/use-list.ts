import { hashKey, type QueryKey, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { pollMs } from './query-client';

interface Page {
  nextCursor: string | null;
}

interface ListInput<P extends Page, T> {
  queryKey: QueryKey;
  fetchPage: (page: { limit: number; cursor?: string }, signal: AbortSignal) => Promise<P>;
  itemsOf: (page: P) => T[];
  /** Whether the list is read; without the permission to read it, it is shown as empty. */
  enabled?: boolean;
}

export interface List<T> {
  items: T[];
  /** Whether no item is loaded yet and a request is in progress. */
  isPending: boolean;
  error: Error | null;
  hasMore: boolean;
  isLoadingMore: boolean;
  loadMore: () => void;
  retry: () => void;
}

const pageSize = 100;

/** Reads a list of the API page by page as the user scrolls. */
export function useList<P extends Page, T>({ queryKey, fetchPage, itemsOf, enabled = true }: ListInput<P, T>): List<T> {
  const query = useInfiniteQuery({
    enabled,
    queryKey,
    queryFn: ({ pageParam, signal }) => fetchPage({ limit: pageSize, cursor: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
    // Polling requests all loaded pages again, so it stops after the user has scrolled through many pages.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) <= 2 ? pollMs : false),
    placeholderData: (previous) => previous,
  });
  const { data, fetchNextPage, hasNextPage, isFetching, isFetchingNextPage, isError } = query;
  const items = useMemo(() => data?.pages.flatMap(itemsOf) ?? [], [data, itemsOf]);
  // Each page of a search covers a part of the rows, so the first pages can be empty although later pages contain
  // matches.
  const isSearching = items.length === 0 && hasNextPage && !isError;
  // A refetch of the loaded pages, such as after an event, cancels the request for the next page, which is then repeated.
  const key = hashKey(queryKey);
  const pages = data?.pages.length ?? 0;
  const [requested, setRequested] = useState({ key, pages });
  const isMoreRequested = requested.key === key && requested.pages > pages && hasNextPage && !isError;
  useEffect(() => {
    if ((isSearching || isMoreRequested) && !isFetching) void fetchNextPage();
  }, [isSearching, isMoreRequested, isFetching, fetchNextPage]);
  const isLoadingMore = isFetchingNextPage || isMoreRequested;
  const loadMore = () => {
    if (!hasNextPage || isLoadingMore) return;
    setRequested({ key, pages: pages + 1 });
    void fetchNextPage();
  };
  return {
    items,
    isPending: (enabled && query.isPending) || isSearching,
    error: isError ? query.error : null,
    hasMore: hasNextPage,
    isLoadingMore,
    loadMore,
    retry: () => void query.refetch(),
  };
}
