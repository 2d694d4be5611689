import { AppError } from '@muster/contracts';

export interface RoiRange {
  from: string;
  to: string;
}

const dayMs = 86_400_000;

/**
 * Completes the requested range; by default today and the 29 days before. Throws invalid_payload if it is not valid.
 */
export function resolveRoiRange({ from, to }: Partial<RoiRange>, today: string): RoiRange {
  const last = to ?? today;
  const first = from ?? addDays(last, -29);
  if (last < first) throw invalidRangeError('to', to ? 'to must not be before from' : 'from must not be after today');
  if (last > addThreeYears(first)) throw invalidRangeError('to', 'to must be at most 3 years after from');
  return { from: first, to: last };
}

/** Returns every day of the range, in order. */
export function listDaysOfRange({ from, to }: RoiRange): string[] {
  const days = [from];
  // The loop compares with !== instead of <=, because the day after 9999-12-31 has a five-digit year and would compare
  // as smaller.
  for (let day = from; day !== to; days.push(day)) day = addDays(day, 1);
  return days;
}

function addDays(day: string, days: number): string {
  const moment = new Date(Date.parse(`${day}T00:00:00Z`) + days * dayMs);
  // A day before the year 1 is replaced with the first day that the API accepts.
  return moment.getUTCFullYear() < 1 ? '0001-01-01' : moment.toISOString().slice(0, 10);
}

function addThreeYears(day: string): string {
  const year = Number(day.slice(0, 4)) + 3;
  return year > 9999 ? '9999-12-31' : `${String(year).padStart(4, '0')}${day.slice(4)}`;
}

function invalidRangeError(field: string, message: string): AppError {
  return new AppError('invalid_payload', { detail: `${message}.`, errors: [{ field, message }] });
}
