import { parseCron } from './cron-rule';
import { previewRuns } from './preview-runs';

const after = new Date('2026-03-01T00:00:00Z');
const previewRunYears = (cron: string, count: number) =>
  previewRuns(parseCron(cron), 'America/New_York', { after, count }).map(({ local }) => Number(local.slice(0, 4)));

describe('previewRuns', () => {
  it('previewRuns returns the requested number of runs of a yearly rule', () => {
    expect(previewRunYears('0 0 1 1 *', 100)).toEqual(Array.from({ length: 100 }, (_, at) => 2027 + at));
  });

  it('previewRuns looks about a century ahead for a rule that runs every few decades', () => {
    expect(previewRunYears('0 0 29 2 */7', 100)).toEqual([2032, 2060, 2088, 2128]);
    expect(previewRunYears('0 0 29 2 *', 100)).toHaveLength(27);
  });

  it('previewRuns includes a run that is exactly 110 years of 366 days ahead, and none later', () => {
    const last = Date.parse('2150-01-01T00:00:00Z');
    const countFrom = (ms: number) =>
      previewRuns(parseCron('0 0 1 1 *'), 'UTC', { after: new Date(ms), count: 200 })
        .at(-1)!
        .local.slice(0, 4);
    const start = last - 110 * 366 * 24 * 3_600_000;
    expect([countFrom(start), countFrom(start - 1)]).toEqual(['2150', '2149']);
  });
});
