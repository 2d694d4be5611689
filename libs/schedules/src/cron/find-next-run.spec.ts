import { chooseSize } from '@muster/testing';
import fc from 'fast-check';
import { WallClock } from './cron-oracle.harness';
import { parseCron } from './cron-rule';
import { findNextRun } from './find-next-run';
import { Timezone } from './timezone';

jest.setTimeout(180_000);

/**
 * Timezones whose clocks change at midnight, by half an hour, for Ramadan, in the southern autumn, twice a year or
 * never.
 */
const zones = [
  'UTC',
  'Africa/Cairo',
  'Africa/Casablanca',
  'America/Havana',
  'America/New_York',
  'America/Nuuk',
  'America/Santiago',
  'America/Sao_Paulo',
  'America/St_Johns',
  'Asia/Beirut',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Europe/London',
  'Pacific/Chatham',
];

const expressions = [
  '0 0 * * *',
  '30 2 * * *',
  '0,30 1-3 * * *',
  '15 23,0 * * *',
  '59 23 * * SAT',
  '0 2 29 2 *',
  '0 0 13 * FRI',
  '45 1 1-7 3,4,10,11 0',
  '0 3 */2 * MON-FRI',
  '10-50/20 0-4 * * 7',
  '*/7 * * * *',
  '*/15 2 * * *',
  '0 */2 * * *',
  '30 * * * *',
  '5 * 1,15 * *',
];

const day = 86_400_000;

function computeRunTimes(expression: string, timezone: string, from: number, until: number): number[] {
  const rule = parseCron(expression);
  const runs: number[] = [];
  for (
    let next = findNextRun(rule, timezone, new Date(from - 1));
    next && next.at.getTime() < until;
    next = findNextRun(rule, timezone, next.at)
  ) {
    runs.push(next.at.getTime());
  }
  return runs;
}

function createWallClock(timezone: string, year: number): WallClock {
  return new WallClock(timezone, new Date(Date.UTC(year, 0, 1) - day), new Date(Date.UTC(year + 1, 0, 1)));
}

/** Compares two lists of runs. A year of minutes is too long a list for a Jest matcher. */
function describeFirstDifference(found: number[], wanted: number[]): string | null {
  const at = Array.from({ length: Math.max(found.length, wanted.length) }).findIndex(
    (_, each) => found[each] !== wanted[each],
  );
  const format = (time: number | undefined) => (time === undefined ? 'nothing' : new Date(time).toISOString());
  return at < 0 ? null : `run ${at}: ${format(found[at])} instead of ${format(wanted[at])}`;
}

describe('findNextRun', () => {
  describe.each([...zones.map((zone) => [zone, 2026] as const), ['America/Sao_Paulo', 2018] as const])(
    'in %s, over all of %i',
    (zone, year) => {
      let clock: WallClock;
      beforeAll(() => {
        clock = createWallClock(zone, year);
      });
      const [from, until] = [Date.UTC(year, 0, 1), Date.UTC(year + 1, 0, 1)];

      it.each(expressions)('findNextRun finds the same runs of %s as a walk over every minute', (expression) => {
        const oracle = clock.listExpectedRuns(expression).filter((at) => at >= from);
        expect(describeFirstDifference(computeRunTimes(expression, zone, from, until), oracle)).toBeNull();
      });

      it('findNextRun finds the same runs of random expressions as a walk over every minute', () => {
        fc.assert(
          fc.property(anyExpression, (expression) => {
            const oracle = clock.listExpectedRuns(expression).filter((at) => at >= from);
            expect(describeFirstDifference(computeRunTimes(expression, zone, from, until), oracle)).toBeNull();
          }),
          { numRuns: chooseSize('NEXT_RUN_EXPRESSIONS', { short: 2, long: 20 }) },
        );
      });
    },
  );

  it.each([
    [
      'runs a fixed time in a gap right after the gap',
      '30 2 * * *',
      'America/New_York',
      '2026-03-08T06:00Z',
      '2026-03-08T07:00Z',
      'gap',
    ],
    [
      'runs a time of day at its own time on the day after the gap',
      '30 2 * * *',
      'America/New_York',
      '2026-03-08T07:00Z',
      '2026-03-09T06:30Z',
      null,
    ],
    [
      'runs a fixed time that occurs twice at its first occurrence',
      '30 1 * * *',
      'America/New_York',
      '2026-11-01T05:00Z',
      '2026-11-01T05:30Z',
      'overlap',
    ],
    [
      'does not run a fixed time at its second occurrence',
      '30 1 * * *',
      'America/New_York',
      '2026-11-01T05:30Z',
      '2026-11-02T06:30Z',
      null,
    ],
    [
      'runs wildcard hours in real time when the clocks are set back',
      '30 * * * *',
      'America/New_York',
      '2026-11-01T05:30Z',
      '2026-11-01T06:30Z',
      null,
    ],
    [
      'runs wildcard hours in real time when the clocks are set forward',
      '30 * * * *',
      'America/New_York',
      '2026-03-08T06:30Z',
      '2026-03-08T07:30Z',
      null,
    ],
    [
      'runs a midnight that does not exist after the gap',
      '0 0 * * *',
      'Asia/Beirut',
      '2026-03-28T12:00Z',
      '2026-03-28T22:00Z',
      'gap',
    ],
    [
      'runs a midnight that does not exist after the gap, in the south',
      '0 0 * * *',
      'America/Santiago',
      '2026-09-05T12:00Z',
      '2026-09-06T04:00Z',
      'gap',
    ],
    [
      'runs a midnight that occurs twice at its first occurrence',
      '0 0 * * *',
      'America/Havana',
      '2026-10-31T12:00Z',
      '2026-11-01T04:00Z',
      'overlap',
    ],
    [
      'handles half an hour of daylight saving',
      '15 2 * * *',
      'Australia/Lord_Howe',
      '2026-10-03T12:00Z',
      '2026-10-03T15:30Z',
      'gap',
    ],
    ['finds a leap day', '0 12 29 2 *', 'UTC', '2026-01-01T00:00Z', '2028-02-29T12:00Z', null],
    [
      'finds a leap day across a century year without one',
      '0 12 29 2 *',
      'UTC',
      '2096-03-01T00:00Z',
      '2104-02-29T12:00Z',
      null,
    ],
    [
      'returns a run strictly after the start time',
      '0 12 * * *',
      'UTC',
      '2026-01-01T12:00Z',
      '2026-01-02T12:00Z',
      null,
    ],
    [
      'returns a run less than a second after the start time',
      '0 12 * * *',
      'UTC',
      '2026-01-01T11:59:59.999Z',
      '2026-01-01T12:00Z',
      null,
    ],
  ])('findNextRun %s: %s in %s', (_, expression, zone, after, at, shift) => {
    expect(findNextRun(parseCron(expression), zone, new Date(after))).toEqual({ at: new Date(at), shift });
  });

  it('Timezone finds every clock change that JavaScript’s Intl reports', () => {
    const changes = zones.map((zone) => {
      const timezone = new Timezone(zone);
      let count = 0;
      for (let at = Date.UTC(2026, 0); at < Date.UTC(2027, 0);) {
        const { end, offset } = timezone.findStretchAt(at);
        if (timezone.getOffsetAt(end) !== offset) count += 1;
        at = end;
      }
      return [zone, count];
    });
    expect(Object.fromEntries(changes)).toMatchObject({
      UTC: 0,
      'Africa/Casablanca': 2,
      'America/New_York': 2,
      'Asia/Kathmandu': 0,
      'Australia/Lord_Howe': 2,
    });
  });
});

const arbitraryList = (min: number, max: number) => {
  const value = fc.integer({ min, max });
  const range = fc
    .tuple(value, value, fc.option(fc.integer({ min: 1, max: Math.min(max, 9) })))
    .map(([a, b, step]) => `${Math.min(a, b)}-${Math.max(a, b)}${step ? `/${step}` : ''}`);
  return fc.array(fc.oneof(value.map(String), range), { minLength: 1, maxLength: 3 }).map((items) => items.join(','));
};
const arbitraryField = (min: number, max: number) =>
  fc.oneof(
    { weight: 2, arbitrary: arbitraryList(min, max) },
    { weight: 1, arbitrary: fc.constant('*') },
    { weight: 1, arbitrary: fc.integer({ min: 1, max }).map((step) => `*/${step}`) },
  );
const anyExpression = fc
  .tuple(
    arbitraryField(0, 59),
    arbitraryField(0, 23),
    arbitraryField(1, 31),
    arbitraryField(1, 12),
    arbitraryField(0, 7),
  )
  .map((fields) => fields.join(' '))
  .filter((expression) => {
    try {
      return Boolean(parseCron(expression));
    } catch {
      return false;
    }
  });
