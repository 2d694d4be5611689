import { Logger } from '@nestjs/common';
import { Round } from './round';
import { sweepRows } from './sweep-rows';

describe('a sweep', () => {
  beforeAll(() => Logger.overrideLogger(false));

  const rows = Array.from({ length: 25 }, (_, at) => at + 1);
  /** A table whose rows stay candidates until they are processed. */
  function makeTable(bad: number[] = []) {
    const processed: number[] = [];
    const tried: number[] = [];
    return {
      processed,
      tried,
      run: (round: Round, atOnce = 1) =>
        sweepRows<number, 'done'>(round, {
          name: 'rows',
          outcomes: ['done'],
          limit: 10,
          atOnce,
          candidates: (after, limit) =>
            Promise.resolve(rows.filter((row) => row > (after ?? 0) && !processed.includes(row)).slice(0, limit)),
          settle: async (row) => {
            tried.push(row);
            await Promise.resolve();
            if (bad.includes(row)) throw new Error(`${row} is bad`);
            if (row % 5 === 0) return null;
            processed.push(row);
            return 'done';
          },
          rowOf: (row) => `row ${row}`,
        }),
    };
  }

  it.each([1, 4])(
    'a sweep processes every row page by page, %i at a time, and skips rows that fail',
    async (atOnce) => {
      const { run, tried } = makeTable([1, 2, 3, 4, 6, 7, 8, 9, 11, 12, 13]);
      const round = new Round('test');
      expect(await run(round, atOnce)).toEqual({ looked: 25, done: 9 });
      expect([...tried].sort((a, b) => a - b)).toEqual(rows);
      expect(round.failed).toBe(11);
      expect(round.failures).toContainEqual({ row: 'row 13', error: '13 is bad' });
    },
  );

  it('a sweep that ran out of time resumes at its cursor in the next round, and restarts after the last row', async () => {
    const { run, tried } = makeTable(rows);
    const cursors = new Map<string, unknown>();
    // Each check of the time uses up a third of the budget, so a round processes three rows.
    const short = () => {
      let looks = 0;
      const round = new Round('test', { cursors });
      jest.spyOn(round, 'hasTime', 'get').mockImplementation(() => (looks += 1) <= 3);
      return run(round);
    };
    for (let round = 0; round < 8; round += 1) await short();
    expect(tried).toEqual(rows.slice(0, 24));
    await short();
    expect(tried.at(-1)).toBe(25);
    await short();
    expect(tried.slice(-3)).toEqual([1, 2, 3]);
  });

  it('a sweep without time processes nothing and keeps its cursor', async () => {
    const { run, tried } = makeTable();
    const cursors = new Map<string, unknown>([['rows', 7]]);
    expect(await run(new Round('test', { budgetMs: 0, cursors }))).toEqual({ looked: 0, done: 0 });
    expect(tried).toEqual([]);
    expect(cursors.get('rows')).toBe(7);
  });
});
