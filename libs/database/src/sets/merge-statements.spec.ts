import { rowStatement } from '../transactions/row-statement';
import type { RowWriter } from '../transactions/statement-batch';
import { mergeStatements } from './merge-statements';

const statement = (text: string) => ({ text });
const writerOf = (table: string): RowWriter => ({
  one: { name: `one ${table}`, text: `one ${table}` },
  many: { name: `many ${table}`, text: `many ${table}` },
});
const [jobs, entries] = [writerOf('jobs'), writerOf('entries')];

describe('mergeStatements', () => {
  const merge = (...callers: Parameters<typeof mergeStatements>[0]) => {
    const { statements, places } = mergeStatements(callers);
    return { sent: statements.map(({ text, values }) => [text, values]), places };
  };

  it('mergeStatements writes rows of the same kind that are next for several callers with one statement', () => {
    const rowsOf = (id: string) => [rowStatement(jobs, [id]), rowStatement(entries, [id, 'queued'])];
    expect(merge(rowsOf('a'), rowsOf('b'), rowsOf('c'))).toEqual({
      sent: [
        ['many jobs', [['a', 'b', 'c']]],
        [
          'many entries',
          [
            ['a', 'b', 'c'],
            ['queued', 'queued', 'queued'],
          ],
        ],
      ],
      places: [
        [0, 1],
        [0, 1],
        [0, 1],
      ],
    });
  });

  it('mergeStatements keeps each caller’s statements in order, and merges only statements that write rows', () => {
    const { sent, places } = merge(
      [statement('read a'), rowStatement(jobs, ['a'])],
      [rowStatement(jobs, ['b']), statement('read b'), rowStatement(jobs, ['c'])],
      [],
    );
    expect(sent).toEqual([
      ['read a', undefined],
      ['many jobs', [['a', 'b']]],
      ['read b', undefined],
      ['one jobs', ['c']],
    ]);
    expect(places).toEqual([[0, 1], [1, 2, 3], []]);
  });

  it('mergeStatements sends the statement of a single caller unchanged', () => {
    expect(merge([rowStatement(jobs, ['a'])])).toEqual({ sent: [['one jobs', ['a']]], places: [[0]] });
  });
});
