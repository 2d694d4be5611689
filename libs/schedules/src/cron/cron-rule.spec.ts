import fc from 'fast-check';
import { parseCronOrFault } from './cron-rule';
import { checkTimezone } from './timezone';

describe('parseCronOrFault', () => {
  it.each([
    '* * * * *',
    '0 9 * * MON-FRI',
    '*/5 0-23/2 1,15 jan,Jul sun',
    '0 0 29 2 *',
    '0 0 31 2 1',
    '59 23 31 12 7',
    '0 0 * * 5-7',
    '0 0 * * FRI-SUN',
    '  0\t9  * * *  ',
    '00 09 * * *',
    '*/15,7 * * * *',
  ])('parseCronOrFault accepts the expression “%s”', (expression) => {
    expect(parseCronOrFault(expression)).toMatchObject({ rule: expect.any(Object) });
  });

  it.each([
    ['', /empty/],
    ['   ', /empty/],
    ['* * * *', /4 fields and needs five/],
    ['0 * * * * *', /6 fields and needs five.*seconds/],
    ['0 0 * * * * 2026', /7 fields/],
    ['0 0 * * * root', /6 fields/],
    ['@daily', /@daily.*not supported/],
    ['@every 5m', /not supported/],
    ['0 0 L * *', /L \(the last one\) is not supported/],
    ['0 0 L-3 * *', /day of month/],
    ['0 0 * * 5L', /L \(the last one\)/],
    ['0 0 * * MON#2', /nth weekday/],
    ['0 0 ? * *', /\? \(no value\)/],
    ['0 0 15W * *', /nearest weekday/],
    ['H * * * *', /hashed value/],
    ['H(0-29) * * * *', /hashed value/],
    ['*/0 * * * *', /minute: a step of 0/],
    ['*/60 * * * *', /a step of 60 is larger/],
    ['5/15 * * * *', /step without a range; write 5-59\/15/],
    ['*/5/2 * * * *', /more than one step/],
    ['*/-5 * * * *', /the step “-5”/],
    ['*/ * * * *', /the step “” is not a number/],
    ['*/1.5 * * * *', /not a number/],
    ['50-10 * * * *', /runs backwards/],
    ['0 22-2 * * *', /hour: the range “22-2” runs backwards/],
    ['0 0 * * FRI-MON', /runs backwards/],
    ['60 * * * *', /60 is not within 0–59/],
    ['0 24 * * *', /24 is not within 0–23/],
    ['0 0 0 * *', /0 is not within 1–31/],
    ['0 0 32 * *', /32 is not within 1–31/],
    ['0 0 * 13 *', /13 is not within 1–12/],
    ['0 0 * 0 *', /0 is not within 1–12/],
    ['0 0 * * 8', /8 is not within 0–7/],
    ['0 0 31 2 *', /never runs.*day 31/],
    ['0 0 30 FEB *', /never runs/],
    ['0 0 31 4,6,9,11 *', /never runs/],
    ['-1 * * * *', /lacks a value/],
    ['1- * * * *', /lacks a value/],
    ['1-2-3 * * * *', /not a range/],
    ['1,,2 * * * *', /empty item/],
    [',1 * * * *', /empty item/],
    ['1, * * * *', /empty item/],
    ['+5 * * * *', /not a number/],
    ['1e1 * * * *', /not a number/],
    ['0x1 * * * *', /not a number/],
    ['007 * * * *', /not a number/],
    ['** * * * *', /not a number/],
    ['*5 * * * *', /not a number/],
    ['MON * * * *', /minute: “MON” is not a number/],
    ['0 0 * MONDAY *', /month: “MONDAY”/],
    ['0 0 * * MONDAY', /day of week: “MONDAY”/],
    ['0 9 * * *;rm', /“\*;rm”/],
    ['0 9 * * *\n', /U\+000A/],
    ['0 9 *\u00a0* *', /U\+00A0/],
    ['٠ ٩ * * *', /U\+0660/],
    ['０ 9 * * *', /U\+FF10/],
    ['0 9 * * ＊', /U\+FF0A/],
    [`${'0,'.repeat(100)}0 0 * * *`, /more than 200 characters/],
  ])('parseCronOrFault rejects the expression “%s”', (expression, message) => {
    expect(parseCronOrFault(expression).fault).toMatch(message);
  });

  it('parseCronOrFault returns either a rule or an error message for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[\d*,\-/ LW#?A-Z]{0,30}$/)), (text) => {
        const { rule, fault } = parseCronOrFault(text);
        expect(Boolean(rule) !== Boolean(fault)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('checkTimezone', () => {
  it.each(['UTC', 'America/Chicago', 'Asia/Kathmandu', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5', 'EST5EDT'])(
    'the timezone %s is accepted',
    (name) => expect(checkTimezone(name)).toBeNull(),
  );
  it.each([
    '',
    'Mars/Olympus',
    '+01:00',
    'GMT+5',
    'PST',
    'IST',
    'America/',
    'Europe/London ',
    '../etc',
    'x'.repeat(70),
  ])('the timezone “%s” is rejected', (name) => expect(checkTimezone(name)).toEqual(expect.any(String)));
});
