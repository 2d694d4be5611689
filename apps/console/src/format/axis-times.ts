const hourOfDay = new Intl.DateTimeFormat(undefined, { hour: 'numeric' });
const timeOfDay = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const shortDay = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });

/**
 * Formats the labels of a time axis: the time of day, and on a second line the day wherever it changes. Labels that are
 * a day or more apart are days only.
 */
export function formatAxisTimes(seconds: readonly number[], stepSeconds: number): string[] {
  const dates = seconds.map((at) => new Date(at * 1000));
  const days = dates.map((date) => shortDay.format(date));
  if (stepSeconds >= 24 * 60 * 60) return days;
  const clock = stepSeconds >= 60 * 60 ? hourOfDay : timeOfDay;
  return dates.map((date, at) => clock.format(date) + (days[at] === days[at - 1] ? '' : `\n${days[at]}`));
}
