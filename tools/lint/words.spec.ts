// @ts-expect-error: plain JavaScript, because it runs before anything is compiled.
import { findWordFaults } from './words.mjs';

describe('the words of pages', () => {
  const page = 'apps/console/src/pages/home/index.tsx';

  it.each([
    '<Empty title="Nothing was given up." />',
    "toast('The worker was told.');",
    '<Link to="/runs">Its runs</Link>',
    "heads={['Run', 'Because']}",
    '`${usd(amount)} USD`',
    "toast('The record is made.');",
  ])('the lint refuses this line of a page: %s', (line) => {
    expect(findWordFaults(page, `ok\n${line}\n`)).toEqual([expect.stringMatching(`^${page}:2: `)]);
    expect(findWordFaults('libs/jobs/src/index.ts', line)).toEqual([]);
  });

  it.each(['// The worker was told.', '<Link to="/runs">View runs</Link>', 'Runs are made of steps'])(
    'the lint accepts this line of a page: %s',
    (line) => {
      expect(findWordFaults(page, line)).toEqual([]);
    },
  );
});
