/**
 * A period with one UTC offset. From `start` until `end`, clocks are `offset` ahead of UTC; before `start` they were
 * `before` ahead. All values are in ms.
 */
export interface Stretch {
  start: number;
  end: number;
  offset: number;
  before: number;
}

/** Abbreviations that ICU, the library behind Intl, accepts and the IANA database does not contain. */
const abbreviations = new Set(
  'ACT AET AGT ART AST BET BST CAT CNT CST CTT EAT ECT IET IST JST MIT NET NST PLT PNT PRT PST SST VST'.split(' '),
);

const zones = new Map<string, Timezone>();

/** Returns why a name is not a valid timezone; null if it is valid. */
export function checkTimezone(name: string): string | null {
  if (name.length > 64 || !/^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+){0,2}$/.test(name)) {
    return 'it must be a name of the IANA timezone database, such as America/Chicago';
  }
  try {
    if (abbreviations.has(name.toUpperCase())) throw new RangeError();
    getTimezone(name);
    return null;
  } catch {
    return `the IANA timezone database has no ${name}`;
  }
}

/** Returns a cached timezone, because creating a formatter costs as much as a hundred uses of it. */
export function getTimezone(name: string): Timezone {
  const cached = zones.get(name);
  if (cached) return cached;
  const created = new Timezone(name);
  if (zones.size >= 2000) zones.clear();
  zones.set(name, created);
  return created;
}

const hour = 3_600_000;
const minute = 60_000;

/** Finds the clock changes of a timezone through Intl, one year at a time. */
export class Timezone {
  private readonly format: Intl.DateTimeFormat;
  private readonly years = new Map<number, Stretch[]>();

  constructor(readonly name: string) {
    this.format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
  }

  /**
   * Returns the stretch that contains a time. A stretch also ends at the end of a UTC year, although no clock changes
   * there.
   */
  findStretchAt(time: number): Stretch {
    const year = new Date(time).getUTCFullYear();
    let stretches = this.years.get(year);
    if (!stretches) {
      if (this.years.size >= 50) this.years.clear();
      stretches = this.listStretchesOfYear(year);
      this.years.set(year, stretches);
    }
    let at = stretches.length - 1;
    while (stretches[at]!.start > time) at -= 1;
    return stretches[at]!;
  }

  getOffsetAt(time: number): number {
    const [, sign, hours, minutes] = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(this.format.format(time))!;
    return sign ? (sign === '-' ? -1 : 1) * (Number(hours) * hour + Number(minutes) * minute) : 0;
  }

  private listStretchesOfYear(year: number): Stretch[] {
    const first = Date.UTC(year, 0);
    const end = Date.UTC(year + 1, 0);
    const stretches: Stretch[] = [];
    let start = first;
    let offset = this.getOffsetAt(first);
    let before = this.getOffsetAt(first - minute);
    // A step of half a day finds every clock change, because no timezone has ever changed its clocks and changed them
    // back within half a day.
    for (let from = first; from < end; from += 12 * hour) {
      const to = Math.min(from + 12 * hour, end - minute);
      const next = this.getOffsetAt(to);
      if (next === offset) continue;
      const change = this.findClockChange(from, to, offset);
      stretches.push({ start, end: change, offset, before });
      [start, before, offset] = [change, offset, next];
    }
    return [...stretches, { start, end, offset, before }];
  }

  /** Returns the first minute whose offset differs from the offset at `from`. */
  private findClockChange(from: number, to: number, offset: number): number {
    let [same, other] = [from, to];
    while (other - same > minute) {
      const middle = same + Math.floor((other - same) / 2 / minute) * minute;
      if (this.getOffsetAt(middle) === offset) same = middle;
      else other = middle;
    }
    return other;
  }
}
