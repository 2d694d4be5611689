import { parseRetryAfterMs } from './retry-after';

describe('parseRetryAfterMs', () => {
  it.each([
    ['seconds', '120', 120_000],
    ['a fraction of seconds', '2.5', 2500],
    ['a date', 'Wed, 01 Jul 2026 12:00:30 GMT', 30_000],
    ['a date in the past', 'Wed, 01 Jul 2026 11:59:00 GMT', 0],
    ['another text', 'soon', null],
    ['no text', '', null],
  ])('a Retry-After header with %s is read (%s: %s ms)', (_, header, expected) => {
    expect(parseRetryAfterMs(header, Date.parse('2026-07-01T12:00:00Z'))).toBe(expected);
  });
});
