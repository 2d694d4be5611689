import { getStartOfDay } from '../../format/zone-day';

export interface WeekDay {
  /** Label of the day, such as "Mon, Mar 9". */
  label: string;
  /** Start and end of the day, in milliseconds since the epoch. */
  from: number;
  to: number;
  /** Clock change on this day; null if there is none. */
  clockChange: string | null;
}

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

/** Today and the next six days in the time zone; a day on which the clocks change can have 23 or 25 hours. */
export function listNextSevenDays(now: Date, timeZone: string): WeekDay[] {
  const label = new Intl.DateTimeFormat(undefined, { weekday: 'short', month: 'short', day: 'numeric', timeZone });
  const days: WeekDay[] = [];
  for (let from = getStartOfDay(now.getTime(), timeZone); days.length < 7; from = days.at(-1)!.to) {
    const to = getStartOfDay(from + dayMs + 12 * hourMs, timeZone);
    const minutes = Math.round((to - from - dayMs) / 60_000);
    days.push({ label: label.format(from), from, to, clockChange: describeClockChange(minutes) });
  }
  return days;
}

function describeClockChange(minutes: number): string | null {
  if (minutes === 0) return null;
  const size = Math.abs(minutes) % 60 === 0 ? `${Math.abs(minutes) / 60} h` : `${Math.abs(minutes)} min`;
  return minutes < 0 ? `clocks go forward: ${size} is missing` : `clocks go back: ${size} is repeated`;
}
