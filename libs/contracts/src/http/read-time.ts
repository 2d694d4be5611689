const timestamp = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(?:Z|([+-])(\d{2}):?(\d{2}))?$/;

/**
 * A calendar date with a time of day, as RFC 3339 has it; seconds, fraction and zone may be left out, and no zone is
 * UTC. ISO 8601 knows week dates, days of the year and more, which neither Postgres nor JavaScript can tell. Answers
 * the moment as everything here writes it, in UTC with milliseconds, or null.
 */
export function readTime(text: string): string | null {
  if (text.length > 40) return null;
  const parts = timestamp.exec(text);
  if (!parts) return null;
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map((part) => Number(part ?? 0)) as Six;
  const [offsetHours, offsetMinutes] = [Number(parts[9] ?? 0), Number(parts[10] ?? 0)];
  const exists =
    month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month) && hour <= 23 && minute <= 59 && second <= 59;
  if (!exists || offsetHours > 23 || offsetMinutes > 59) return null;
  const offset = (parts[8] === '-' ? -1 : 1) * (offsetHours * 60 + offsetMinutes);
  const milliseconds = Number((parts[7] ?? '').padEnd(3, '0').slice(0, 3));
  // Not Date.UTC: it takes the years 0 to 99 for those of the last century.
  const moment = new Date(0);
  moment.setUTCFullYear(year, month - 1, day);
  moment.setUTCHours(hour, minute - offset, second, milliseconds);
  // An offset may lead out of the years that have four digits.
  const inYear = moment.getUTCFullYear();
  return inYear >= 1 && inYear <= 9999 ? moment.toISOString() : null;
}

const day = /^(?!0000)(\d{4})-(\d{2})-(\d{2})$/;

/** A calendar day that exists, as YYYY-MM-DD, or null. */
export function readDay(text: string): string | null {
  const [year, month, date] = (day.exec(text) ?? []).slice(1).map(Number) as Partial<Three>;
  if (!year || !month || !date || month > 12) return null;
  return date <= daysIn(year, month) ? text : null;
}

type Three = [number, number, number];
type Six = [number, number, number, number, number, number];

function daysIn(year: number, month: number): number {
  const last = new Date(0);
  last.setUTCFullYear(year, month, 0);
  return last.getUTCDate();
}
