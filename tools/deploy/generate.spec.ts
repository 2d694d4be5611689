import { generatedFiles, firstDifference, staleFiles } from './generate';
import { repositoryRoot } from './deployment.harness';

describe('generated files', () => {
  it('are what the tables say', () => {
    expect(staleFiles(repositoryRoot)).toEqual([]);
  });

  it('that are missing are stale', () => {
    expect(staleFiles('/nowhere')).toEqual(Object.keys(generatedFiles).map((path) => `${path}: is missing`));
  });

  it.each([
    ['a\nb\n', 'a\nc\n', 'line 2 has "c", should have "b"'],
    ['a\nb\n', 'a\n', 'line 2 has "", should have "b"'],
    ['a\n', 'a\nb\n', 'line 2 has "b", should have ""'],
  ])('show their first difference: %j, %j', (wanted, found, difference) => {
    expect(firstDifference(wanted, found)).toBe(difference);
  });
});
