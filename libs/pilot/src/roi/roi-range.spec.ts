import { listDaysOfRange, resolveRoiRange } from './roi-range';

describe('resolveRoiRange', () => {
  const lengthOf = (query: { from?: string; to?: string }) => {
    const range = resolveRoiRange(query, '2026-03-19');
    const days = listDaysOfRange(range);
    expect([days[0], days.at(-1)]).toEqual([range.from, range.to]);
    return days.length;
  };

  it.each([
    [{}, 30],
    [{ from: '2026-03-19' }, 1],
    [{ from: '2024-02-28', to: '2024-03-01' }, 3],
    [{ from: '2023-03-19', to: '2026-03-19' }, 1097],
    [{ to: '0001-01-02' }, 2],
    [{ from: '0001-01-01', to: '0004-01-01' }, 1096],
    [{ to: '9999-12-31' }, 30],
    [{ from: '9999-12-31', to: '9999-12-31' }, 1],
    [{ from: '9998-06-01', to: '9999-12-31' }, 579],
    [{ from: '9996-12-31', to: '9999-12-31' }, 1096],
  ])('resolveRoiRange completes %j to a range of %d days', (query, length) => {
    expect(lengthOf(query)).toBe(length);
  });

  it.each([
    { from: '2026-03-02', to: '2026-03-01' },
    { from: '2026-03-20' },
    { from: '2023-03-18', to: '2026-03-19' },
    { from: '9996-12-30', to: '9999-12-31' },
  ])('resolveRoiRange rejects the range %j', (query) => {
    expect(() => resolveRoiRange(query, '2026-03-19')).toThrow();
  });
});
