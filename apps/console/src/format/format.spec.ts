import { formatDuration, formatMoney, formatRelative, formatShare, formatSize } from './format';

describe('formats of the console', () => {
  it.each([
    [0, '0 s'],
    [1, '1 ms'],
    [999.4, '999 ms'],
    [1000, '1 s'],
    [9940, '9.9 s'],
    [10_000, '10 s'],
    [59_400, '59 s'],
    [59_600, '1 min 00 s'],
    [3_599_400, '59 min 59 s'],
    [3_600_000, '1 h 00 min'],
    [86_399_000, '23 h 59 min'],
    [86_400_000, '1 d 0 h'],
  ])('a duration is formatted with its two largest units: %d ms', (ms, text) => expect(formatDuration(ms)).toBe(text));

  it.each([
    [4, 'now'],
    [5, 'in 5 sec.'],
    [59, 'in 59 sec.'],
    [60, 'in 1 min.'],
    [3599, 'in 59 min.'],
    [3600, 'in 1 hr.'],
    [86_399, 'in 23 hr.'],
    [86_400, 'tomorrow'],
    [-86_400, 'yesterday'],
  ])('a relative time is formatted in the largest unit that fits: %d s', (seconds, text) =>
    expect(formatRelative(new Date(seconds * 1000).toISOString(), 0)).toBe(text),
  );

  it('a share is shown as 100% only if it is complete', () => {
    expect([formatShare(0, 0), formatShare(0, 3), formatShare(9999, 10_000), formatShare(3, 3)]).toEqual([
      '–',
      '0%',
      '99.9%',
      '100%',
    ]);
  });

  it.each([
    [1023, '1,023 B'],
    [1024, '1 KiB'],
    [10 * 1024 - 1, '10 KiB'],
    [1024 ** 2 - 1, '1,024 KiB'],
    [1024 ** 2, '1 MiB'],
    [2 * 1024 ** 4, '2,048 GiB'],
  ])('a size is formatted in the largest unit in which it is at least 1: %d bytes', (bytes, text) =>
    expect(formatSize(bytes)).toBe(text),
  );

  it('an amount below a dollar shows fractions of a cent, a larger one does not', () => {
    expect([formatMoney(0.0123), formatMoney(0.12), formatMoney(1), formatMoney(1.2345)]).toEqual([
      '$0.0123',
      '$0.12',
      '$1.00',
      '$1.23',
    ]);
  });
});
