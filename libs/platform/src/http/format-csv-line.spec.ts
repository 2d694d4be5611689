import { formatCsvLine } from './format-csv-line';

describe('formatCsvLine', () => {
  it.each([
    '=HYPERLINK("http://evil","x")',
    '+1',
    '-2+3',
    '@SUM(A1)',
    '\t=1',
    '\r\n=1',
    '\tx',
    '  =1',
    '\u200e\u202e=1',
    '\u200b \u2060@A1',
    '＝1',
    ' ＋1',
  ])('formatCsvLine puts an apostrophe before the cell %j, which a spreadsheet would evaluate', (text) => {
    expect(formatCsvLine([text]).replace(/^"/, '')).toMatch(/^'/);
    expect(formatCsvLine([text])).toContain(text.replaceAll('"', '""'));
  });

  it.each(['1=1', "it's", 'a+b', 'a @ b', 'שלום', '2026-03-01', ''])(
    'formatCsvLine writes the cell %j unchanged',
    (text) => {
      expect(formatCsvLine([text])).toBe(`${text}\r\n`);
    },
  );

  it('formatCsvLine quotes a cell that a spreadsheet of some country would split or trim', () => {
    expect(formatCsvLine(['a,b', 'a;b', 'a\tb', 'a\nb', ' a ', 'say "a"', null, 'a'])).toBe(
      '"a,b","a;b","a\tb","a\nb"," a ","say ""a""",,a\r\n',
    );
  });
});
