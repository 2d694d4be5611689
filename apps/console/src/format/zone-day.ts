const dayMs = 24 * 60 * 60 * 1000;

/** Start of the zone's day that contains `at`, found by bisection because midnight itself can be skipped. */
export function getStartOfDay(at: number, timeZone: string): number {
  const dayAt = createDayFormatter(timeZone);
  const day = dayAt(at);
  let before = Math.floor(at / 60_000) - 27 * 60;
  let within = Math.floor(at / 60_000);
  while (within - before > 1) {
    const middle = Math.floor((before + within) / 2);
    if (dayAt(middle * 60_000) === day) within = middle;
    else before = middle;
  }
  return within * 60_000;
}

/** Start of a calendar day (YYYY-MM-DD) in the zone, and the start of the next day, as times of the API. */
export function getTimesOfDay(day: string, timeZone: string): { from: string; to: string } {
  const midnight = Date.parse(`${day}T00:00Z`);
  // In zones that are 12 hours or more ahead of UTC, noon in UTC is already on the next day.
  const noon = midnight + dayMs / 2;
  const within = createDayFormatter(timeZone)(noon) === day ? noon : midnight;
  const from = getStartOfDay(within, timeZone);
  const to = getStartOfDay(from + 1.5 * dayMs, timeZone);
  return { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns a function that formats the day of a time in the zone as YYYY-MM-DD. */
function createDayFormatter(timeZone: string): (at: number) => string {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat('en-CA', { timeZone, year: 'numeric', month: '2-digit', day: '2-digit' });
  formats.set(timeZone, format);
  return (at) => format.format(at);
}
