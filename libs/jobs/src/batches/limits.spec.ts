import { fillVariablesIntoConcurrencyKeys } from '../launch/resolve-concurrency-keys';
import { checkBatchRow } from './check-batch-row';
import { readCsv } from './read-csv';

const keys = (count: number, length = 10) =>
  fillVariablesIntoConcurrencyKeys(
    {
      requested: Array.from({ length: count }, (_, at) => ({ key: String(at).padEnd(length, 'x') })),
      workflowKeys: [],
    },
    {},
  );
async function* oneChunk(text: string) {
  yield Buffer.from(text);
}
const columns = (count: number) => Array.from({ length: count }, (_, at) => `c${at}`).join(',');
const throwErrors = (row: ReturnType<typeof checkBatchRow>) => {
  if ('errors' in row) throw new Error(row.errors[0]);
  return row;
};

/** The largest value is accepted, and one more is refused. */
describe('the limits of the input of runs', () => {
  it.each<[name: string, most: number, use: (value: number) => unknown]>([
    ['concurrency keys of a run', 5, (count) => keys(count)],
    ['characters of a concurrency key', 200, (length) => keys(1, length)],
    [
      'characters of a cell',
      65_536,
      (length) =>
        throwErrors(
          checkBatchRow(
            { row: 1, cells: new Map([['a', 'x'.repeat(length)]]), errors: [] },
            { names: new Set(['a']), defaults: {} },
          ),
        ),
    ],
    ['columns of a table', 1000, (count) => readCsv(oneChunk(`${columns(count)}\n${columns(count)}\n`))],
  ])('the %s', async (_, most, use) => {
    const start = (value: number) => Promise.resolve(value).then(use);
    await expect(start(most)).resolves.toBeDefined();
    await expect(start(most + 1)).rejects.toThrow();
  });

  it('a row reports at most ten errors', () => {
    const names = new Set(Array.from({ length: 11 }, (_, at) => `v${at}`));
    const row = checkBatchRow({ row: 1, cells: new Map(), errors: [] }, { names, defaults: {} });
    expect('errors' in row && row.errors).toHaveLength(10);
  });
});
