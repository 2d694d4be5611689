// @ts-expect-error: plain JavaScript, because it runs before anything is compiled.
import { findMissingFolders } from './dated-suites.mjs';

describe('the suites that run under other dates', () => {
  it('each folder of the list exists, and a folder that does not exist is found', () => {
    expect(findMissingFolders(process.cwd())).toEqual([]);
    expect(findMissingFolders(process.cwd(), ['libs/jobs/', 'libs/nothing/'])).toEqual(['libs/nothing/']);
  });
});
