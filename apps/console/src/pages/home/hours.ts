import type { ActivityHour } from '../../api/generated';

export interface Hour {
  /** Start of the hour, in milliseconds since the epoch. */
  at: number;
  runs: number;
  failed: number;
}

/** Returns 24 hours for each of the last days, the latest day first, in the viewer's time zone. */
export function groupHoursByDay(activity: readonly ActivityHour[], now: Date, days: number): Hour[][] {
  const rows = Array.from({ length: days }, (_, ago) =>
    Array.from({ length: 24 }, (__, hour): Hour => {
      const at = new Date(now.getFullYear(), now.getMonth(), now.getDate() - ago, hour).getTime();
      return { at, runs: 0, failed: 0 };
    }),
  );
  const getHourKey = (date: Date) => `${date.toDateString()} ${date.getHours()}`;
  const byKey = new Map(rows.flat().map((hour) => [getHourKey(new Date(hour.at)), hour]));
  for (const { at, completed, failed, cancelled } of activity) {
    const hour = byKey.get(getHourKey(new Date(at)));
    if (!hour) continue;
    hour.runs += completed + failed + cancelled;
    hour.failed += failed;
  }
  return rows;
}

/** Returns the shade of an hour: 0 without runs, otherwise 1 to 4 by its share of the busiest hour. */
export function computeShade(runs: number, busiest: number): number {
  return runs === 0 ? 0 : Math.max(1, Math.ceil((4 * runs) / busiest));
}
