// All formats of times, durations, sizes and money in the console.
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const time = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const shortDay = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: 'short', month: 'short', day: 'numeric' });
const utcDay = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' });
const utcMonth = new Intl.DateTimeFormat(undefined, { month: 'long', year: 'numeric', timeZone: 'UTC' });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });
const plain = new Intl.NumberFormat();

const units = ['B', 'KiB', 'MiB', 'GiB'];

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

export function formatDateTime(at: string): string {
  return formatTime(dateTime, at);
}

/** Shortest form of a time: only the time of day if it is today, otherwise with the day. */
export function formatMoment(at: string, now: number): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  const isToday = new Date(now).toDateString() === date.toDateString();
  return isToday ? time.format(date) : `${shortDay.format(date)}, ${time.format(date)}`;
}

/** Formats a time as the date in the viewer's time zone: Sat, Jan 31. */
export function formatWeekday(at: number): string {
  return weekday.format(at);
}

/** Formats a calendar day of the API: Jan 31. */
export function formatDay(day: string): string {
  return formatTime(utcDay, day.slice(0, 10));
}

/** Formats a month of the API: November 2026. */
export function formatMonth(month: string): string {
  return formatTime(utcMonth, `${month.slice(0, 7)}-01`);
}

export function formatTimeOfDay(at: string): string {
  return formatTime(clock, at);
}

/** Formats a time; returns a text that is not a valid time unchanged. */
function formatTime(format: Intl.DateTimeFormat, at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : format.format(date);
}

/** Formats a time in another time zone, with the zone's name. */
export function formatInZone(at: string, timeZone: string): string {
  return formatTime(
    new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long', timeZone: chooseKnownZone(timeZone) }),
    at,
  );
}

/** The time zone if this browser knows it, otherwise UTC; formatted times contain the name of the zone used. */
export function chooseKnownZone(timeZone: string): string {
  try {
    return new Intl.DateTimeFormat(undefined, { timeZone }).resolvedOptions().timeZone;
  } catch {
    return 'UTC';
  }
}

export function formatRelative(at: string, now: number): string {
  const seconds = Math.round((Date.parse(at) - now) / 1000);
  if (Number.isNaN(seconds)) return at;
  const size = Math.abs(seconds);
  if (size < 5) return 'now';
  if (size < minute) return relative.format(seconds, 'second');
  if (size < hour) return relative.format(Math.trunc(seconds / minute), 'minute');
  if (size < day) return relative.format(Math.trunc(seconds / hour), 'hour');
  return relative.format(Math.trunc(seconds / day), 'day');
}

/** Formats a duration with its two largest units: 850 ms, 4.2 s, 3 min 05 s, 2 h 10 min, 4 d 3 h. */
export function formatDuration(ms: number): string {
  if (ms < 1) return '0 s';
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${plain.format(Math.round(seconds * 10) / 10)} s`;
  const whole = Math.round(seconds);
  if (whole < minute) return `${whole} s`;
  if (whole < hour) return `${Math.trunc(whole / minute)} min ${padTwoDigits(whole % minute)} s`;
  if (whole < day) return `${Math.trunc(whole / hour)} h ${padTwoDigits(Math.trunc((whole % hour) / minute))} min`;
  return `${plain.format(Math.trunc(whole / day))} d ${Math.trunc((whole % day) / hour)} h`;
}

/** Formats an offset from the start of a video or of a run: 1:05. */
export function formatOffset(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return `${Math.trunc(seconds / minute)}:${padTwoDigits(seconds % minute)}`;
}

/** Formats US dollars with two digits, or with four if the amount is below a dollar and has fractions of a cent. */
export function formatMoney(usd: number): string {
  const isCents = Math.abs(usd) >= 1 || Math.abs(usd * 100 - Math.round(usd * 100)) < 1e-9;
  const digits = isCents ? 2 : 4;
  const options = { style: 'currency', currency: 'USD', minimumFractionDigits: digits, maximumFractionDigits: digits };
  return new Intl.NumberFormat(undefined, options as Intl.NumberFormatOptions).format(usd);
}

export function formatCount(count: number): string {
  return plain.format(count);
}

/** Formats a number with at most one digit after the point, and with none from 1,000. */
export function formatOneDecimal(value: number): string {
  return plain.format(Math.abs(value) < 1000 ? Math.round(value * 10) / 10 : Math.round(value));
}

/** Formats a number with its noun in the singular or plural: 1 run, 2 runs. */
export function formatCountWithNoun(count: number, one: string, many = `${one}s`): string {
  return `${plain.format(count)} ${count === 1 ? one : many}`;
}

/** Formats a share of a whole: 97.5%; a dash if the whole is 0. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0) return '–';
  const percent = (100 * part) / whole;
  // 99.96% is not rounded up to 100%, because 100% would mean that nothing is missing.
  return `${plain.format(part < whole ? Math.min(99.9, Math.round(percent * 10) / 10) : 100)}%`;
}

/** Formats bytes in the largest unit in which the value is at least 1. */
export function formatSize(bytes: number): string {
  const at = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const size = bytes / 1024 ** at;
  return `${plain.format(at > 0 && size < 10 ? Math.round(size * 10) / 10 : Math.round(size))} ${units[at]!}`;
}

function padTwoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
