import type { CronRule } from './cron-rule';
import { type Stretch, type Timezone, getTimezone } from './timezone';

/**
 * Effect of a clock change on a run: its time does not exist (`gap`), or occurs twice and runs the first time
 * (`overlap`).
 */
type ClockShift = 'gap' | 'overlap';

export interface NextRun {
  at: Date;
  shift: ClockShift | null;
}

const minute = 60_000;
const day = 86_400_000;
/**
 * Maximum number of years for which a run is searched. The next 29 February can be eight years away, and much further
 * if it must also be on one weekday.
 */
const horizonYears = 40;

/**
 * Returns the first run after a time; null if there is none within `horizonYears`. Daylight saving works as in cron(8).
 * A rule with a `*` in its minute or hour field follows real time: it runs at every minute whose wall clock matches.
 * Any other rule is about times of day: a time that daylight saving skips runs once right after the skipped hour, and a
 * time that occurs twice runs the first time.
 */
export function findNextRun(rule: CronRule, timezone: string, after: Date): NextRun | null {
  const zone = getTimezone(timezone);
  const from = (Math.floor(after.getTime() / minute) + 1) * minute;
  const horizon = from + horizonYears * 366 * day;
  for (let time = from; time < horizon;) {
    const stretch = zone.findStretchAt(time);
    const found = rule.wildcard
      ? findNextRunInRealTime(rule, stretch, time)
      : findNextRunAtTimeOfDay(rule, zone, stretch, time);
    if (found) return found;
    time = stretch.end;
  }
  return null;
}

/** Returns the runs of a period in order, at most `limit` of them. */
export function listRunsBetween(rule: CronRule, timezone: string, span: { after: Date; until: Date; limit: number }) {
  const runs: Date[] = [];
  let next = findNextRun(rule, timezone, span.after);
  while (next && next.at <= span.until && runs.length < span.limit) {
    runs.push(next.at);
    next = findNextRun(rule, timezone, next.at);
  }
  return runs;
}

function findNextRunInRealTime(rule: CronRule, { end, offset }: Stretch, time: number): NextRun | null {
  const local = findFirstLocalTime(rule, time + offset, end + offset);
  return local === null ? null : { at: new Date(local - offset), shift: null };
}

function findNextRunAtTimeOfDay(rule: CronRule, zone: Timezone, stretch: Stretch, time: number): NextRun | null {
  const { start, end, offset, before } = stretch;
  // Right after the clocks were set forward, the rule runs if it matches a skipped time.
  if (time === start && offset > before && findFirstLocalTime(rule, start + before, start + offset) !== null) {
    return { at: new Date(start), shift: 'gap' };
  }
  // Times that the clocks already showed before they were set back are left out, because the rule has run at them.
  const local = findFirstLocalTime(rule, Math.max(time + offset, start + before), end + offset);
  if (local === null) return null;
  const comesAgain = local >= end + zone.findStretchAt(end).offset;
  return { at: new Date(local - offset), shift: comesAgain ? 'overlap' : null };
}

/**
 * Returns the first matching wall-clock time from `from` and before `until`, written as if it were UTC; null if there
 * is none.
 */
function findFirstLocalTime(rule: CronRule, from: number, until: number): number | null {
  let today = Math.floor(from / day);
  let minuteOfDay = Math.ceil((from - today * day) / minute);
  while (today * day < until) {
    const date = new Date(today * day);
    if (!rule.months.has(date.getUTCMonth() + 1)) {
      today = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1) / day;
      minuteOfDay = 0;
      continue;
    }
    const found = ruleMatchesDay(rule, date) ? findFirstMinute(rule, minuteOfDay) : null;
    if (found !== null) {
      const local = today * day + found * minute;
      return local < until ? local : null;
    }
    today += 1;
    minuteOfDay = 0;
  }
  return null;
}

function ruleMatchesDay({ days, weekdays, eitherDay }: CronRule, date: Date): boolean {
  const [ofMonth, ofWeek] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
  return eitherDay ? ofMonth || ofWeek : ofMonth && ofWeek;
}

/** Returns the first matching minute of a day at or after `from`; null if there is none. */
function findFirstMinute({ hours, minutes }: CronRule, from: number): number | null {
  const [atHour, atMinute] = [Math.floor(from / 60), from % 60];
  for (const hour of hours) {
    if (hour < atHour) continue;
    if (hour > atHour) return hour * 60 + minutes[0]!;
    const found = minutes.find((each) => each >= atMinute);
    if (found !== undefined) return hour * 60 + found;
  }
  return null;
}
