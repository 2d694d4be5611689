import { AppError } from '@muster/contracts';

/** Range of days, both inclusive. */
export interface Period {
  from: string;
  to: string;
}

const maxYears = 3;

/** Throws if the period ends before it starts, or is longer than `maxYears`. */
export function requireValidPeriod({ from, to }: Period): void {
  const problem =
    to < from
      ? 'to must not be before from'
      : toUtcMidnight(to) > addYears(from, maxYears)
        ? `from and to must not be more than ${maxYears} years apart`
        : null;
  if (problem) throw new AppError('invalid_payload', { detail: problem, errors: [{ field: 'to', message: problem }] });
}

/** Completes the requested period. By default it is the last thirty days in the organization's time zone. */
export function completePeriod(requested: Partial<Period>, { now, timezone }: { now: Date; timezone: string }): Period {
  const to = requested.to ?? formatDayInTimezone(now, timezone);
  const period = { from: requested.from ?? subtractDays(to, 29), to };
  requireValidPeriod(period);
  return period;
}

function formatDayInTimezone(at: Date, timezone: string): string {
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: timezone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  return format.format(at);
}

function subtractDays(day: string, days: number): string {
  const at = toUtcMidnight(day);
  at.setUTCDate(at.getUTCDate() - days);
  return at.getUTCFullYear() < 1 ? '0001-01-01' : at.toISOString().slice(0, 10);
}

function addYears(day: string, years: number): Date {
  const at = toUtcMidnight(day);
  at.setUTCFullYear(at.getUTCFullYear() + years);
  return at;
}

function toUtcMidnight(day: string): Date {
  return new Date(`${day}T00:00:00.000Z`);
}
