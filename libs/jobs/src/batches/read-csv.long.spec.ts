// This test is long because it lets V8 copy 64 MB of young objects, which is slow if another program uses the memory.
// A short test of the same code: libs/jobs/src/batches/read-csv.spec.ts
import { measureLongestTurn, maxTurnMs } from '@muster/testing';
import { readCsv } from './read-csv';

describe('a large table', () => {
  it('a CSV table with 8,000 rows of 1,000 cells does not block the event loop', async () => {
    const names = Array.from({ length: 1000 }, (_, at) => `c${at}`).join();
    const bytes = Buffer.from(`${names}\n${`${','.repeat(999)}\n`.repeat(8000)}`);
    async function* splitIntoPieces() {
      for (let from = 0; from < bytes.length; from += 64 * 1024) yield bytes.subarray(from, from + 64 * 1024);
    }
    let rows = 0;
    const turn = await measureLongestTurn(async () => (rows = (await readCsv(splitIntoPieces())).length));
    expect(rows).toBe(8000);
    expect(turn).toBeLessThan(maxTurnMs);
  });
});
