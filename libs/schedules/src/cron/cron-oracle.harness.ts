/**
 * A second, independent implementation of the cron rule, with which tests compare the first. It walks every minute of a
 * period in UTC, reads the wall clock of the timezone and matches the text of the expression. It knows no transitions
 * and computes nothing in advance. It finds a time that the clocks skipped by comparing a minute with the minute before
 * it.
 */
export class WallClock {
  /** The wall clock at each minute: the day, counted from the first one, and the minute of that day. */
  private readonly days: Uint16Array;
  private readonly minutes: Uint16Array;
  private readonly dates: Date[];

  constructor(
    timezone: string,
    private readonly from: Date,
    until: Date,
  ) {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: timezone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
    });
    const length = (until.getTime() - from.getTime()) / 60_000;
    this.days = new Uint16Array(length);
    this.minutes = new Uint16Array(length);
    const dayBefore = Math.floor(from.getTime() / 86_400_000) - 1;
    const readWallClock = (at: number) => {
      // The format is, for example, 03/08/2026, 03:00.
      const text = format.format(from.getTime() + at * 60_000);
      const parsePart = (start: number, end: number) => Number(text.slice(start, end));
      this.days[at] = Date.UTC(parsePart(6, 10), parsePart(0, 2) - 1, parsePart(3, 5)) / 86_400_000 - dayBefore;
      this.minutes[at] = parsePart(12, 14) * 60 + parsePart(15, 17);
    };
    // If the wall clocks at both ends of a quarter of an hour differ by the real time between them, the minutes in
    // between are computed and not read.
    for (let quarter = 0; quarter < length; quarter += 15) {
      const last = Math.min(quarter + 14, length - 1);
      readWallClock(quarter);
      readWallClock(last);
      const isPlain =
        this.days[last] === this.days[quarter] && this.minutes[last] === this.minutes[quarter]! + last - quarter;
      for (let at = quarter + 1; at < last; at += 1) {
        if (!isPlain) readWallClock(at);
        else [this.days[at], this.minutes[at]] = [this.days[quarter]!, this.minutes[quarter]! + at - quarter];
      }
    }
    const lastDay = Math.max(this.days[0]!, this.days[length - 1]!);
    this.dates = Array.from({ length: lastDay + 2 }, (_, day) => new Date((dayBefore + day) * 86_400_000));
  }

  /**
   * Returns every run of the expression, in UTC ms. The walk must begin a day before the period of interest, so that
   * the wall clock before the period is known.
   */
  listExpectedRuns(expression: string): number[] {
    const [minute, hour, ...dayFields] = expression.split(' ') as [string, string, string, string, string];
    const anyTime = star.test(minute) || star.test(hour);
    const onDay = this.dates.map((date) => matchesDay(date, dayFields as never));
    const atMinute = Array.from(
      { length: 1440 },
      (_, at) => matchesField(minute, at % 60, 0, 59) && matchesField(hour, Math.floor(at / 60), 0, 23),
    );
    const runs: number[] = [];
    let latestWall = this.days[0]! * 1440 + this.minutes[0]! - 1;
    for (let at = 0; at < this.days.length; at += 1) {
      const [day, minuteOfDay] = [this.days[at]!, this.minutes[at]!];
      const wall = day * 1440 + minuteOfDay;
      let due = false;
      if (anyTime) due = atMinute[minuteOfDay]! && onDay[day]!;
      // Check the wall-clock minutes that have not occurred before: this minute, and the minutes that the clocks
      // skipped right before it.
      for (let wallMinute = latestWall + 1; !anyTime && !due && wallMinute <= wall; wallMinute += 1) {
        due = atMinute[wallMinute % 1440]! && onDay[Math.floor(wallMinute / 1440)]!;
      }
      if (wall > latestWall) latestWall = wall;
      if (due) runs.push(this.from.getTime() + at * 60_000);
    }
    return runs;
  }
}

const star = /(^|,)\*/;

function matchesDay(date: Date, [ofMonth, month, ofWeek]: [string, string, string]): boolean {
  if (!matchesField(month, date.getUTCMonth() + 1, 1, 12)) return false;
  const weekday = date.getUTCDay();
  const inMonth = matchesField(ofMonth, date.getUTCDate(), 1, 31);
  const inWeek = matchesField(ofWeek, weekday, 0, 6) || (weekday === 0 && matchesField(ofWeek, 7, 0, 7));
  return star.test(ofMonth) || star.test(ofWeek) ? inMonth && inWeek : inMonth || inWeek;
}

const names: Record<string, number> = Object.fromEntries([
  ...['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'].map((name, at) => [name, at]),
  ...['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'].map((name, at) => [
    name,
    at + 1,
  ]),
]);

function matchesField(field: string, value: number, min: number, max: number): boolean {
  return field.split(',').some((item) => {
    const [span, step = '1'] = item.split('/') as [string, string?];
    const [low, high = low] = span === '*' ? [min, max] : span.split('-').map((end) => names[end] ?? Number(end));
    return value >= low! && value <= high! && (value - low!) % Number(step) === 0;
  });
}
