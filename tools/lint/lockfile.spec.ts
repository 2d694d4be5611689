// @ts-expect-error: plain JavaScript, because it runs before anything is compiled.
import { listUnverifiedPackages } from './lockfile.mjs';

describe('the lockfile', () => {
  const integrity = 'sha512-x';

  it('the lockfile must have a checksum for every package, including packages for other platforms', () => {
    const packages = {
      '': {},
      'node_modules/good': { integrity },
      'node_modules/linked': { link: true },
      'node_modules/bad': { version: '1.0.0' },
      'node_modules/weak': { integrity: 'sha1-x' },
      'node_modules/good/node_modules/@scope/nested': { dev: true },
      'node_modules/for-us': { optional: true, os: ['linux'], cpu: ['x64'] },
      'node_modules/for-macs': { optional: true, os: ['darwin'], cpu: ['arm64'] },
      'node_modules/for-windows': { optional: true, os: ['win32'], integrity },
    };
    expect(listUnverifiedPackages({ packages })).toEqual(['bad', 'weak', '@scope/nested', 'for-us', 'for-macs']);
  });

  it('the lockfile need not have a checksum for bundled packages', () => {
    const packages = { 'node_modules/a': { integrity }, 'node_modules/a/node_modules/b': { inBundle: true } };
    expect(listUnverifiedPackages({ packages })).toEqual([]);
  });
});
