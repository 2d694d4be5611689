import { groupHoursByDay, computeShade } from './hours';

const formatNovemberTime = (day: number, hour: number) => new Date(2026, 10, day, hour).toISOString();

describe('the hours of the home page', () => {
  it('groupHoursByDay counts runs and failures at the hour and day on which they ended, the latest day first', () => {
    const rows = groupHoursByDay(
      [
        { at: formatNovemberTime(24, 23), completed: 9, failed: 9, cancelled: 9 },
        { at: formatNovemberTime(25, 0), completed: 4, failed: 1, cancelled: 2 },
        { at: formatNovemberTime(26, 13), completed: 3, failed: 0, cancelled: 0 },
      ],
      new Date(2026, 10, 26, 15, 30),
      2,
    );
    expect(rows.map((hours) => hours.length)).toEqual([24, 24]);
    const busy = rows.map((hours) => hours.flatMap(({ runs, failed }, hour) => (runs ? [{ hour, runs, failed }] : [])));
    expect(busy).toEqual([[{ hour: 13, runs: 3, failed: 0 }], [{ hour: 0, runs: 7, failed: 1 }]]);
    expect(rows[1]![0]!.at).toBe(Date.parse(formatNovemberTime(25, 0)));
  });

  it('the heat map shades an hour with a single run, and darkest only hours with nearly as many runs as the busiest one', () => {
    expect([0, 1, 25, 26, 75, 76, 100].map((runs) => computeShade(runs, 100))).toEqual([0, 1, 1, 2, 3, 4, 4]);
  });
});
