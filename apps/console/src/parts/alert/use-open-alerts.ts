import type { InfiniteData, QueryClient } from '@tanstack/react-query';
import { type Alert, type AlertList, alertsList } from '../../api/generated';
import { usePermission } from '../../api/session';
import { type List, useList } from '../../api/use-list';

const queryKey = ['alerts', 'open'];
const getPageItems = (page: AlertList) => page.alerts;

/** Reads the open alerts, newest first. */
export function useOpenAlerts(): List<Alert> {
  return useList({
    queryKey,
    fetchPage: (page, signal) => alertsList({ query: { ...page, status: 'open' }, signal }),
    itemsOf: getPageItems,
    enabled: usePermission('alerts.read'),
  });
}

/** Removes a resolved alert from the cached list, because a list of many pages is not refetched for each event. */
export function removeOpenAlert(client: QueryClient, id: string): void {
  client.setQueryData<InfiniteData<AlertList>>(queryKey, (list) => {
    const pages = list?.pages.map((page) => ({ ...page, alerts: page.alerts.filter((each) => each.id !== id) }));
    return list && pages && { ...list, pages };
  });
}
