import { useQuery } from '@tanstack/react-query';
import { settingsQuery } from '../api/session';
import { zoneOf } from '../format/format';
import { timesOfDay } from '../format/zone-day';

/** Returns a function that builds the filter of runs that ended on a day. Days of costs follow the organization's zone. */
export function useRunsOfDay(): (day: string, last?: string) => Record<string, string> {
  const { data: settings } = useQuery(settingsQuery);
  const zone = zoneOf(settings?.timezone ?? 'UTC');
  return (day, last = day) => {
    const [endedFrom, endedTo] = [timesOfDay(day, zone).from, timesOfDay(last, zone).to];
    return { endedFrom, endedTo, sort: '-finishedAt' };
  };
}
