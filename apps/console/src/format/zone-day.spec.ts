import { getTimesOfDay } from './zone-day';

describe('days in a time zone', () => {
  it.each([
    ['2026-11-17', 'UTC', '2026-11-17T00:00:00.000Z', '2026-11-18T00:00:00.000Z'],
    ['2026-11-17', 'America/Chicago', '2026-11-17T06:00:00.000Z', '2026-11-18T06:00:00.000Z'],
    ['2026-11-17', 'Pacific/Kiritimati', '2026-11-16T10:00:00.000Z', '2026-11-17T10:00:00.000Z'],
    ['2026-11-17', 'Pacific/Pago_Pago', '2026-11-17T11:00:00.000Z', '2026-11-18T11:00:00.000Z'],
    // The clocks are changed on these days, so they have 23 and 25 hours.
    ['2026-03-08', 'America/Chicago', '2026-03-08T06:00:00.000Z', '2026-03-09T05:00:00.000Z'],
    ['2026-11-01', 'America/Chicago', '2026-11-01T05:00:00.000Z', '2026-11-02T06:00:00.000Z'],
  ])('the start and end of a day follow the clock of its time zone: %s in %s', (day, zone, from, to) => {
    expect(getTimesOfDay(day, zone)).toEqual({ from, to });
  });
});
