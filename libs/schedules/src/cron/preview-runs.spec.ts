import { parseCron } from './cron-rule';
import { previewRuns } from './preview-runs';

const after = new Date('2026-03-01T00:00:00Z');
const years = (cron: string, count: number) =>
  previewRuns(parseCron(cron), 'America/New_York', { after, count }).map(({ local }) => Number(local.slice(0, 4)));

describe('previewRuns', () => {
  it('previewRuns returns the requested number of runs of a yearly rule', () => {
    expect(years('0 0 1 1 *', 100)).toEqual(Array.from({ length: 100 }, (_, at) => 2027 + at));
  });

  it('previewRuns looks about a century ahead for a rule that runs every few decades', () => {
    expect(years('0 0 29 2 */7', 100)).toEqual([2032, 2060, 2088, 2128]);
    expect(years('0 0 29 2 *', 100)).toHaveLength(27);
  });
});
