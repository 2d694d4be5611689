// The one way in which the console writes times, durations, sizes and money.
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', hourCycle: 'h23' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'short' });
const plain = new Intl.NumberFormat();

const units = ['B', 'KiB', 'MiB', 'GiB'];

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

export function formatDateTime(at: string): string {
  return formatted(dateTime, at);
}

export function formatClock(at: string): string {
  return formatted(clock, at);
}

/** A time that is none, such as one in a machine's own words, stays as it is written. */
function formatted(format: Intl.DateTimeFormat, at: string): string {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? at : format.format(date);
}

/** In a zone of its own, with the zone's name: what one's own clock does not show. */
export function formatInZone(at: string, timeZone: string): string {
  return formatted(
    new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long', timeZone: zoneOf(timeZone) }),
    at,
  );
}

/** The service may know a zone that this browser does not: then it is UTC, which the text says. */
export function zoneOf(timeZone: string): string {
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

/** The two largest parts of it: 850 ms, 4.2 s, 3 min 05 s, 2 h 10 min, 4 d 3 h. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = ms / 1000;
  if (seconds < 10) return `${plain.format(Math.round(seconds * 10) / 10)} s`;
  const whole = Math.round(seconds);
  if (whole < minute) return `${whole} s`;
  if (whole < hour) return `${Math.trunc(whole / minute)} min ${two(whole % minute)} s`;
  if (whole < day) return `${Math.trunc(whole / hour)} h ${two(Math.trunc((whole % hour) / minute))} min`;
  return `${plain.format(Math.trunc(whole / day))} d ${Math.trunc((whole % day) / hour)} h`;
}

/** A place in a film, or in a run: 1:05. */
export function formatOffset(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return `${Math.trunc(seconds / minute)}:${two(seconds % minute)}`;
}

/** Cents where that says enough; parts of a cent where a run costs less. */
export function formatMoney(usd: number): string {
  const digits = usd !== 0 && Math.abs(usd) < 1 ? 4 : 2;
  const options = { style: 'currency', currency: 'USD', minimumFractionDigits: 2, maximumFractionDigits: digits };
  return new Intl.NumberFormat(undefined, options as Intl.NumberFormatOptions).format(usd);
}

export function formatCount(count: number): string {
  return plain.format(count);
}

/** Bytes in the unit that leaves two or three digits. */
export function formatSize(bytes: number): string {
  const at = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const size = bytes / 1024 ** at;
  return `${plain.format(at > 0 && size < 10 ? Math.round(size * 10) / 10 : Math.round(size))} ${units[at]!}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
