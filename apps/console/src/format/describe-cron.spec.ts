import { describeCron } from './describe-cron';

describe('a cron expression in words', () => {
  it.each([
    ['* * * * *', 'Every minute, every day.'],
    ['*/5 * * * *', 'Every 5 minutes, every day.'],
    ['0 * * * *', 'Every hour, on the hour, every day.'],
    ['5,35 * * * *', 'Every hour, at minutes 5 and 35, every day.'],
    ['30 */2 * * *', 'Every 2 hours, at minute 30, every day.'],
    ['0 6 * * *', 'At 06:00, every day.'],
    ['0 6 * * 1-5', 'At 06:00, Monday to Friday.'],
    ['15 6,18 * * mon,THU', 'At 06:15 and 18:15, Monday and Thursday.'],
    ['0 9-17 * * *', 'Every hour from 09:00 to 17:59, at minute 0, every day.'],
    ['*/10 9-17 * * 1-5', 'Every 10 minutes from 09:00 to 17:59, Monday to Friday.'],
    ['* 9,12 * * *', 'Every minute in the hours of 09:00 and 12:00, every day.'],
    ['0 0 1 * *', 'At 00:00, on the 1st of the month.'],
    ['0 0 1,15,22-31 * *', 'At 00:00, on the 1st, 15th and 22nd to 31st of the month.'],
    ['0 0 1 1 *', 'At 00:00, on the 1st of the month, in January.'],
    ['0 0 * */3 *', 'At 00:00, every day, every 3rd month, from January.'],
    ['0 0 13 * 5', 'At 00:00, on the 13th of the month, or on Friday.'],
    ['0 0 */2 * 1', 'At 00:00, every 2nd day of the month, from the 1st if it is Monday.'],
    ['0 0 * JUN-AUG SUN', 'At 00:00, Sunday, in June to August.'],
    ['0 0 * * 7', 'At 00:00, Sunday.'],
    ['0 0 * * 6,7', 'At 00:00, Saturday and Sunday.'],
    ['0-30/10 4 * * *', 'At 04:00, 04:10, 04:20 and 04:30, every day.'],
    ['5/15 4 * * *', 'At 04:05, 04:20, 04:35 and 04:50, every day.'],
  ])('the cron expression %s is described as: %s', (expression, words) => expect(describeCron(expression)).toBe(words));

  it.each([
    '',
    '* * * *',
    '* * * * * *',
    '61 * * * *',
    '0 24 * * *',
    '0 0 0 * *',
    '0 0 * * 8',
    '5-1 * * * *',
    '@daily',
    '0 0 L * *',
    '*/0 * * * *',
    '0 0 * FOO *',
    '1-2-3 * * * *',
    '1, * * * *',
  ])('an invalid or unsupported cron expression has no description: %j', (expression) =>
    expect(describeCron(expression)).toBeNull(),
  );
});
