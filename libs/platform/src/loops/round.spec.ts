import { Round } from './round';

describe('a round of a loop', () => {
  it('a round counts every failed row, and lists the first fifty with the start of each error', () => {
    const round = new Round('test');
    for (let n = 1; n <= 51; n += 1) round.recordFailure(`row ${n}`, n === 1 ? new Error('x'.repeat(501)) : 'no');
    expect(round.failed).toBe(51);
    expect(round.failures).toHaveLength(50);
    expect([round.failures[0], round.failures[49]]).toEqual([
      { row: 'row 1', error: 'x'.repeat(500) },
      { row: 'row 50', error: 'no' },
    ]);
  });
});
