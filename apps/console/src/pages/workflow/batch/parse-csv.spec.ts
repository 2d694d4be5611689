import { parseCsv } from './parse-csv';

describe('the preview of a CSV', () => {
  it.each([
    [
      'A,B\n1,2\n',
      [
        ['A', 'B'],
        ['1', '2'],
      ],
    ],
    ['A\r\n"x, ""y""\nz"\r\n', [['A'], ['x, "y"\nz']]],
    [
      'A,B\n\n,2',
      [
        ['A', 'B'],
        ['', '2'],
      ],
    ],
    ['', []],
  ])('the CSV %j is split into its rows and cells', (text, rows) => expect(parseCsv(text, 9)).toEqual(rows));

  it('the preview of a CSV stops after the requested number of rows', () => {
    expect(parseCsv('A\n1\n2\n3\n', 2)).toEqual([['A'], ['1']]);
  });
});
