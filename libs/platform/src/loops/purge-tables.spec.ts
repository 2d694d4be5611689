import { Logger } from '@nestjs/common';
import { purgeTables } from './purge-tables';
import { Round } from './round';

describe('a purge', () => {
  beforeAll(() => Logger.overrideLogger(false));

  /** A table with a number of rows to delete. Each deletion is noted in `turns`. */
  function makeTable(rows: number, turns: string[], name: string) {
    let left = rows;
    return (limit: number) => {
      const dropped = Math.min(left, limit);
      left -= dropped;
      turns.push(`${name} ${dropped}`);
      return Promise.resolve(dropped);
    };
  }

  it('a purge deletes a batch from each table in turn until no rows are left', async () => {
    const turns: string[] = [];
    const round = new Round('test');
    const counts = await purgeTables(round, { a: makeTable(25, turns, 'a'), b: makeTable(3, turns, 'b') }, 10);
    expect(counts).toEqual({ a: 25, b: 3 });
    expect(turns).toEqual(['a 10', 'b 3', 'a 10', 'a 5']);
    expect(round.failed).toBe(0);
  });

  it('a purge reports a table whose deletion fails and continues with the other tables', async () => {
    const turns: string[] = [];
    const round = new Round('test');
    const broken = () => Promise.reject(new Error('no such table'));
    expect(await purgeTables(round, { broken, b: makeTable(12, turns, 'b') }, 10)).toEqual({ broken: 0, b: 12 });
    expect(round.failures).toEqual([{ row: 'broken', error: 'no such table' }]);
  });

  it('a purge deletes nothing if no time is left', async () => {
    const turns: string[] = [];
    expect(await purgeTables(new Round('test', { budgetMs: 0 }), { a: makeTable(5, turns, 'a') })).toEqual({ a: 0 });
    expect(turns).toEqual([]);
  });
});
