import { AppError } from '@muster/contracts';
import { measureLongestTurn, maxTurnMs } from '@muster/testing';
import fc from 'fast-check';
import { checkBatchRow } from './check-batch-row';
import { readCsv } from './read-csv';

async function* splitIntoPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += size) yield bytes.subarray(from, from + size);
}

const readTestCsv = (table: string | Buffer, size = 64 * 1024) =>
  readCsv(splitIntoPieces(Buffer.from(table as string), size));
const readCsvOutcome = (table: string) =>
  readTestCsv(table).then(
    () => 'accepted',
    (error: AppError) => error.options.errors?.[0]?.message,
  );

describe('a table', () => {
  it('a CSV table is read as it was written, wherever its bytes are split', async () => {
    const cell = fc.string({
      unit: fc.constantFrom('a', 'é', '😀', ' ', '"', ',', '\n', '\r', '\r\n', '='),
      maxLength: 5,
    });
    const rows = fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 5 });
    const ending = fc.constantFrom('\n', '\r\n', '\r');
    await fc.assert(
      fc.asyncProperty(rows, ending, fc.integer({ min: 1, max: 9 }), fc.boolean(), async (values, end, size, last) => {
        const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`;
        const lines = [['one', 'two'], ...values].map((each) => each.map(quoted).join(','));
        const parsed = await readTestCsv(lines.join(end) + (last ? end : ''), size);
        expect(parsed.map(({ row, cells, errors }) => [row, cells.get('one'), cells.get('two'), errors])).toEqual(
          values.map(([one, two], at) => [at + 1, one, two, []]),
        );
      }),
    );
  });

  it('a CSV table can have unquoted and empty cells, and its empty lines are skipped', async () => {
    const parsed = await readTestCsv('a,b,c\n\n1,,x y\r\n\r\n,,\r"",2,\n\n');
    expect(parsed.map(({ cells }) => ['a', 'b', 'c'].map((name) => cells.get(name)))).toEqual([
      ['1', '', 'x y'],
      ['', '', ''],
      ['', '2', ''],
    ]);
  });

  it('the line numbers in the errors of a CSV table are those of an editor', async () => {
    const [, second] = await readTestCsv('a,b\r\n"1\r\n2\n3",x\r\ny"z,1\r\n');
    expect(second!.errors).toEqual(['line 5: a cell contains a quote but does not start with one']);
    expect(await readCsvOutcome('a,b\n"1\n2",x\n"y" ,1\n')).toMatch(/^Line 4: there is text after a closing quote/);
  });

  it('only the beginning of a cell that is longer than any variable is stored, even if a multi-byte character is cut', async () => {
    for (const [character, before] of [
      ['é', ''],
      ['é', 'x'],
      ['😀', 'xyz'],
    ] as const) {
      const [row] = await readTestCsv(`a,b\n"${before}${character.repeat(3_000_000)}",1\n`);
      expect(row!.errors).toEqual([]);
      expect((row!.cells.get('a') as string).length).toBeGreaterThan(1_000_000);
      expect((row!.cells.get('a') as string).length).toBeLessThan(3_000_000);
      expect(row!.cells.get('b')).toBe('1');
      expect(checkBatchRow(row!, { names: new Set(['a', 'b']), defaults: {} })).toEqual({
        errors: ['a: has more than 1,000,000 characters; at most 65,536 are allowed'],
      });
    }
  });

  it.each([
    ['a million faulty lines', `a,b\n${'x"y,1\n'.repeat(1_000_000)}`, /more than 10,000 rows/],
    ['a million short rows', `a,b\n${'x\n'.repeat(1_000_000)}`, /more than 10,000 rows/],
    ['120,000 columns', `${Array.from({ length: 120_000 }, (_, at) => `c${at}`).join()}\n`, /more than 1,000 columns/],
    ['eight million cells in one row', `a,b\n${','.repeat(8_000_000)}\n`, 'accepted'],
    ['one cell of 8 MB', `a,b\n"${'x"",\n'.repeat(1_600_000)}",1\n`, 'accepted'],
    ['nothing but line ends', '\n'.repeat(8_000_000), /no row with column names/],
  ])('a CSV table with %s does not block the event loop', async (_, table, outcome) => {
    const bytes = Buffer.from(table);
    let actual: string | undefined;
    const turn = await measureLongestTurn(async () => (actual = await readCsvOutcome(bytes as never)));
    expect(actual).toEqual(typeof outcome === 'string' ? outcome : expect.stringMatching(outcome));
    expect(turn).toBeLessThan(maxTurnMs);
  });
});
