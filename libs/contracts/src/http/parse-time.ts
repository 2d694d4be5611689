const timestamp = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?:Z|([+-])(\d{2}):?(\d{2}))?$/;

/**
 * Reads a date and time in the format of RFC 3339. Seconds, fraction and zone are optional, and without a zone the
 * time is in UTC. Week dates, days of the year and other forms of ISO 8601 are rejected, because neither Postgres nor
 * JavaScript parses them. Returns the time in UTC with milliseconds, or null.
 */
export function parseTime(text: string): string | null {
  if (text.length > 40) return null;
  const parts = timestamp.exec(text);
  if (!parts) return null;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map((part) => Number(part ?? 0)) as Six;
  const [offsetHours, offsetMinutes] = [Number(parts[9] ?? 0), Number(parts[10] ?? 0)];
  const exists =
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    day <= countDaysInMonth(year, month) &&
    hour <= 23 &&
    minute <= 59 &&
    second <= 59;
  if (!exists || offsetHours > 23 || offsetMinutes > 59) return null;
  const offset = (parts[8] === '-' ? -1 : 1) * (offsetHours * 60 + offsetMinutes);
  const milliseconds = Number((parts[7] ?? '').padEnd(3, '0').slice(0, 3));
  // Date.UTC is not used, because it interprets the years 0 to 99 as 1900 to 1999.
  const moment = new Date(0);
  moment.setUTCFullYear(year, month - 1, day);
  moment.setUTCHours(hour, minute - offset, second, milliseconds);
  // The time zone offset can move a valid local time to a UTC time outside of the years 1 to 9999.
  const inYear = moment.getUTCFullYear();
  return inYear >= 1 && inYear <= 9999 ? moment.toISOString() : null;
}

const day = /^(?!0000)(\d{4})-(\d{2})-(\d{2})$/;

/** Returns the text if it is an existing calendar day as YYYY-MM-DD, otherwise null. */
export function parseDay(text: string): string | null {
  const [year, month, date] = (day.exec(text) ?? []).slice(1).map(Number) as Partial<Three>;
  if (!year || !month || !date || month > 12) return null;
  return date <= countDaysInMonth(year, month) ? text : null;
}

type Three = [number, number, number];
type Six = [number, number, number, number, number, number];

function countDaysInMonth(year: number, month: number): number {
  const last = new Date(0);
  last.setUTCFullYear(year, month, 0);
  return last.getUTCDate();
}
