/** Range of days, both inclusive. */
export interface Range {
  from: string;
  to: string;
}

const dayMs = 24 * 60 * 60 * 1000;

/** Returns consecutive days in the format YYYY-MM-DD. */
export function listDaysFrom(from: string, count: number): string[] {
  const first = Date.parse(from);
  return Array.from({ length: count }, (_, at) => new Date(first + at * dayMs).toISOString().slice(0, 10));
}
