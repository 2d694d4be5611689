import { CronExpressionParser } from 'cron-parser';
import fc from 'fast-check';
import { parseCron, parseCronOrFault } from './cron-rule';
import { findNextRun } from './find-next-run';
import { getTimezone } from './timezone';

const findNextRunByCronParser = (expression: string, tz: string, after: Date) =>
  CronExpressionParser.parse(expression, { tz, currentDate: after }).next().toDate().toISOString();
const findNextRunByMuster = (expression: string, tz: string, after: Date) =>
  findNextRun(parseCron(expression), tz, after)!.at.toISOString();

describe('the cron rule compared with cron-parser', () => {
  const arbitraryValue = (min: number, max: number) => fc.integer({ min, max });
  const arbitraryItems = (min: number, max: number) =>
    fc
      .uniqueArray(arbitraryValue(min, max), { minLength: 1, maxLength: 4 })
      .map((list) => list.sort((a, b) => a - b).join(','));
  const arbitraryField = (min: number, max: number) =>
    fc.oneof(
      arbitraryItems(min, max),
      fc.constant('*'),
      fc
        .tuple(arbitraryValue(min, max), arbitraryValue(min, max))
        .map((ends) => `${Math.min(...ends)}-${Math.max(...ends)}`),
    );
  const expressions = fc.tuple(
    arbitraryField(0, 59),
    arbitraryField(0, 23),
    arbitraryField(1, 28),
    arbitraryField(1, 12),
    arbitraryField(0, 6),
  );
  const zones = fc.constantFrom('UTC', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Europe/London');
  const moments = fc.date({ min: new Date('2026-01-01'), max: new Date('2028-12-31'), noInvalidDate: true });

  it('findNextRun returns the same run as cron-parser if the clocks do not change before it', () => {
    let compared = 0;
    fc.assert(
      fc.property(expressions, zones, moments, (fields, zone, after) => {
        const expression = fields.join(' ');
        const found = findNextRun(parseCron(expression), zone, after)!.at;
        const day = 86_400_000;
        const { offset } = getTimezone(zone).findStretchAt(after.getTime() - day);
        for (let at = after.getTime(); at <= found.getTime() + day; at += day) {
          if (getTimezone(zone).getOffsetAt(at) !== offset) return;
        }
        compared += 1;
        expect(`${expression} ${findNextRunByCronParser(expression, zone, after)}`).toBe(
          `${expression} ${found.toISOString()}`,
        );
      }),
      { numRuns: 300 },
    );
    expect(compared).toBeGreaterThan(100);
  });

  it('findNextRun runs a time of day that daylight saving skips right after the skipped hour; cron-parser runs it an hour later', () => {
    const [expression, zone, after] = ['30 2 * * *', 'America/New_York', new Date('2026-03-08T06:00Z')] as const;
    expect(findNextRunByMuster(expression, zone, after)).toBe('2026-03-08T07:00:00.000Z');
    expect(findNextRunByCronParser(expression, zone, after)).toBe('2026-03-08T07:30:00.000Z');
  });

  it('findNextRun requires both day fields to match if one is a step over all days; cron-parser does not', () => {
    const [expression, after] = ['0 0 */2 * MON', new Date('2026-06-02T00:00Z')] as const;
    expect(findNextRunByMuster(expression, 'UTC', after)).toBe('2026-06-15T00:00:00.000Z');
    expect(findNextRunByCronParser(expression, 'UTC', after)).toBe('2026-06-03T00:00:00.000Z');
  });

  it.each(['0 0 * * FRI-SUN', '0 0 * * 0,7', '1,1 * * * *'])(
    'parseCronOrFault accepts an expression that cron-parser rejects: %s',
    (expression) => {
      expect(parseCronOrFault(expression).fault).toBeUndefined();
      expect(() => CronExpressionParser.parse(expression)).toThrow();
    },
  );

  it.each([
    ...['0 0 9 * * *', '@daily', '0 0 L * *', '0 0 * * MON#2', '0 0 ? * *', 'H * * * *', ''],
    ...['5/15 * * * *', '*/60 * * * *', '007 * * * *'],
  ])('parseCronOrFault rejects an expression that cron-parser accepts: “%s”', (expression) => {
    expect(() => CronExpressionParser.parse(expression)).not.toThrow();
    expect(parseCronOrFault(expression).fault).toEqual(expect.any(String));
  });
});
