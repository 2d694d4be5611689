import { formatAxisTimes } from './axis-times';

const toSeconds = (day: number, hour: number, minute = 0) => new Date(2026, 10, day, hour, minute).getTime() / 1000;

describe('formatAxisTimes', () => {
  it('the labels of a time axis name the day only where it changes', () => {
    const hours = [toSeconds(26, 16), toSeconds(26, 20), toSeconds(27, 0), toSeconds(27, 4)];
    expect(formatAxisTimes(hours, 4 * 3600)).toEqual(['4 PM\nNov 26', '8 PM', '12 AM\nNov 27', '4 AM']);
  });

  it('the labels of a time axis have minutes if they are less than an hour apart, and no time from a day on', () => {
    expect(formatAxisTimes([toSeconds(26, 16, 30)], 1800)).toEqual(['4:30 PM\nNov 26']);
    expect(formatAxisTimes([toSeconds(26, 0), toSeconds(28, 0)], 2 * 86_400)).toEqual(['Nov 26', 'Nov 28']);
  });
});
