import { type Alert, type AlertList, alertsList } from '../../api/generated';
import { type List, useList } from '../../api/use-list';

const itemsOf = (page: AlertList) => page.alerts;

/** Reads the open alerts, newest first. */
export function useOpenAlerts(): List<Alert> {
  return useList({
    queryKey: ['alerts', 'open'],
    fetchPage: (page, signal) => alertsList({ query: { ...page, status: 'open' }, signal }),
    itemsOf,
  });
}
