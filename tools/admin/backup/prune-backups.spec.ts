import { parseKeepRule, selectRetainedTimes } from './prune-backups';

describe('the selection of backups to retain', () => {
  const listRetainedTimes = (times: string[], rule: string) =>
    [
      ...selectRetainedTimes(
        times.map((time) => new Date(time)),
        parseKeepRule(rule),
      ),
    ]
      .map((time) => time.toISOString().slice(0, 16))
      .sort();

  it.each([
    ['last=2', ['2026-03-10T20:00', '2026-03-11T08:00']],
    ['hourly=2', ['2026-03-10T20:00', '2026-03-11T08:00']],
    ['daily=2', ['2026-03-10T20:00', '2026-03-11T08:00']],
    ['weekly=2', ['2026-03-08T08:00', '2026-03-11T08:00']],
    ['monthly=2', ['2026-02-28T23:59', '2026-03-11T08:00']],
    ['yearly=2', ['2025-12-31T23:59', '2026-03-11T08:00']],
    ['daily=1,weekly=2', ['2026-03-08T08:00', '2026-03-11T08:00']],
    ['yearly=5', ['2025-12-31T23:59', '2026-03-11T08:00']],
    ['last=0', []],
  ])('the rule %s retains the newest backup of each of its periods, and no more', (rule, retained) => {
    const times = [
      ...['2025-12-31T08:00Z', '2025-12-31T23:59Z', '2026-02-28T23:59Z', '2026-03-01T00:00Z', '2026-03-08T08:00Z'],
      ...['2026-03-10T08:00Z', '2026-03-10T20:00Z', '2026-03-11T08:00Z'],
    ];
    expect(listRetainedTimes(times, rule)).toEqual(retained);
  });
});
