import { Logger } from '@nestjs/common';
import { purge } from './purge';
import { Round } from './round';

describe('a purge', () => {
  beforeAll(() => Logger.overrideLogger(false));

  /** A table of so many rows to drop, which writes down its turns. */
  function table(rows: number, turns: string[], name: string) {
    let left = rows;
    return (limit: number) => {
      const dropped = Math.min(left, limit);
      left -= dropped;
      turns.push(`${name} ${dropped}`);
      return Promise.resolve(dropped);
    };
  }

  it('goes on until nothing is left of any table, each in its turn', async () => {
    const turns: string[] = [];
    const round = new Round('test');
    const counts = await purge(round, { a: table(25, turns, 'a'), b: table(3, turns, 'b') }, 10);
    expect(counts).toEqual({ a: 25, b: 3 });
    expect(turns).toEqual(['a 10', 'b 3', 'a 10', 'a 5']);
    expect(round.failed).toBe(0);
  });

  it('tells of a table that fails, and leaves the others alone', async () => {
    const turns: string[] = [];
    const round = new Round('test');
    const broken = () => Promise.reject(new Error('no such table'));
    expect(await purge(round, { broken, b: table(12, turns, 'b') }, 10)).toEqual({ broken: 0, b: 12 });
    expect(round.failures).toEqual([{ row: 'broken', error: 'no such table' }]);
  });

  it('begins nothing when its time is up', async () => {
    const turns: string[] = [];
    expect(await purge(new Round('test', { budgetMs: 0 }), { a: table(5, turns, 'a') })).toEqual({ a: 0 });
    expect(turns).toEqual([]);
  });
});
