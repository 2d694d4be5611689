import { listNextSevenDays } from './list-next-seven-days';

const computeDayHours = (now: string, zone: string) =>
  listNextSevenDays(new Date(now), zone).map(({ from, to }) => (to - from) / 3_600_000);

describe('the days of a week', () => {
  it('listNextSevenDays starts with today in the time zone, and each day starts when the day before ends', () => {
    const days = listNextSevenDays(new Date('2026-01-01T03:00:00Z'), 'America/Chicago');
    expect(new Date(days[0]!.from).toISOString()).toBe('2025-12-31T06:00:00.000Z');
    expect(days.slice(1).every(({ from }, at) => from === days[at]!.to)).toBe(true);
    expect(days.every(({ clockChange }) => clockChange === null)).toBe(true);
  });

  it.each([
    ['America/Chicago', '2026-03-06T12:00:00Z', 23, 'clocks go forward: 1 h is missing'],
    ['America/Chicago', '2026-10-30T12:00:00Z', 25, 'clocks go back: 1 h is repeated'],
    ['Australia/Lord_Howe', '2026-04-02T12:00:00Z', 24.5, 'clocks go back: 30 min is repeated'],
    // Midnight itself is skipped in this time zone.
    ['America/Santiago', '2026-09-03T12:00:00Z', 23, 'clocks go forward: 1 h is missing'],
  ])('a day has 23 to 25 hours when the clocks of %s change after %s', (zone, now, odd, words) => {
    expect(computeDayHours(now, zone).filter((length) => length !== 24)).toEqual([odd]);
    const [changed] = listNextSevenDays(new Date(now), zone).filter(({ clockChange }) => clockChange);
    expect(changed!.clockChange).toBe(words);
  });
});
