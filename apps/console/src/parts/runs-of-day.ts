import { useQuery } from '@tanstack/react-query';
import { settingsQuery } from '../api/session';
import { chooseKnownZone } from '../format/format';
import { getTimesOfDay } from '../format/zone-day';

/**
 * Returns a function that builds the filter of runs that ended on a day. Days of costs follow the organization's zone.
 */
export function useRunsOfDayFilter(): (day: string, last?: string) => Record<string, string> {
  const { data: settings } = useQuery(settingsQuery);
  const zone = chooseKnownZone(settings?.timezone ?? 'UTC');
  return (day, last = day) => {
    const [endedFrom, endedTo] = [getTimesOfDay(day, zone).from, getTimesOfDay(last, zone).to];
    return { endedFrom, endedTo, sort: '-finishedAt' };
  };
}
