// @ts-expect-error: plain JavaScript, because it runs before anything is compiled.
import { unverifiedIn } from './lockfile.mjs';

describe('the lockfile', () => {
  const integrity = 'sha512-x';
  const other = { optional: true, os: ['darwin'], cpu: ['arm64'] };

  it('has a sum for every package that is installed where Muster runs', () => {
    const packages = {
      '': {},
      'node_modules/good': { integrity },
      'node_modules/bad': { version: '1.0.0' },
      'node_modules/good/node_modules/@scope/nested': { dev: true },
      'node_modules/for-us': { optional: true, os: ['linux'], cpu: ['x64'] },
      'node_modules/for-most': { optional: true, os: ['!win32'] },
      'node_modules/needed-elsewhere': { os: ['darwin'] },
    };
    const names = ['bad', '@scope/nested', 'for-us', 'for-most', 'needed-elsewhere'];
    expect(unverifiedIn({ packages })).toEqual(names);
  });

  it('need not have one for what a package brings in its own archive', () => {
    const packages = { 'node_modules/a': { integrity }, 'node_modules/a/node_modules/b': { inBundle: true } };
    expect(unverifiedIn({ packages })).toEqual([]);
  });

  it('may lack those of optional parts that are for other platforms', () => {
    const packages = { 'node_modules/a': other, 'node_modules/b': { ...other, os: ['linux'], cpu: ['s390x'] } };
    expect(unverifiedIn({ packages })).toEqual([]);
  });
});
