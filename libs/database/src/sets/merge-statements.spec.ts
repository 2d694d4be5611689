import { buildStatementForRow } from '../transactions/row-statement';
import type { RowStatement } from '../transactions/statement-batch';
import { mergeStatements, splitAnswersByCaller } from './merge-statements';

const makeStatement = (text: string) => ({ text });
const makeRowStatement = (table: string): RowStatement => ({
  one: { name: `one ${table}`, text: `one ${table}` },
  many: { name: `many ${table}`, text: `many ${table}` },
});
const [jobs, entries] = [makeRowStatement('jobs'), makeRowStatement('entries')];

describe('mergeStatements', () => {
  const merge = (...callers: Parameters<typeof mergeStatements>[0]) => {
    const { statements, places } = mergeStatements(callers);
    return { sent: statements.map(({ text, values }) => [text, values]), places };
  };

  it('mergeStatements writes the rows of several callers with one statement if the callers’ next rows are of the same kind', () => {
    const rowsOf = (id: string) => [buildStatementForRow(jobs, [id]), buildStatementForRow(entries, [id, 'queued'])];
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
      places: [1, 2, 3].map((member) => [
        { at: 0, member },
        { at: 1, member },
      ]),
    });
  });

  it('mergeStatements keeps each caller’s statements in order, and merges only statements that write rows', () => {
    const { sent, places } = merge(
      [makeStatement('read a'), buildStatementForRow(jobs, ['a'])],
      [buildStatementForRow(jobs, ['b']), makeStatement('read b'), buildStatementForRow(jobs, ['c'])],
      [],
    );
    expect(sent).toEqual([
      ['read a', undefined],
      ['many jobs', [['a', 'b']]],
      ['read b', undefined],
      ['one jobs', ['c']],
    ]);
    expect(places).toEqual([[{ at: 0 }, { at: 1, member: 1 }], [{ at: 1, member: 2 }, { at: 2 }, { at: 3 }], []]);
  });

  it('mergeStatements sends the statement of a single caller unchanged', () => {
    expect(merge([buildStatementForRow(jobs, ['a'])])).toEqual({ sent: [['one jobs', ['a']]], places: [[{ at: 0 }]] });
  });

  it('splitAnswersByCaller gives each caller the rows of its own parameters, and the whole answer of its own statements', () => {
    const answer = (...rows: object[]) => ({ rows, affected: rows.length, command: 'SELECT' });
    const merged = answer({ member: '2', id: 'b1' }, { member: '1', id: 'a' }, { member: '2', id: 'b2' });
    const [first, second, third] = splitAnswersByCaller(
      [merged, answer({ id: 'own' })],
      [[{ at: 0, member: 1 }], [{ at: 0, member: 2 }, { at: 1 }], [{ at: 0, member: 3 }]],
    );
    expect(first).toEqual([answer({ member: '1', id: 'a' })]);
    expect(second).toEqual([answer({ member: '2', id: 'b1' }, { member: '2', id: 'b2' }), answer({ id: 'own' })]);
    expect(third).toEqual([answer()]);
  });
});
