import { BundleFaults } from './bundle-faults';

describe('the faults of a bundle', () => {
  it.each([
    [1, ''],
    [2, ', and 1 more'],
    [199, ', and 198 more'],
    [200, ', and many more'],
  ])('the error of %i faults names the first one and how many others there are', (count, others) => {
    const faults = new BundleFaults();
    for (let n = 1; n <= count; n += 1) faults.addFault(`file-${n}`, 'link');
    expect(faults.toError().options.detail).toBe(
      `The bundle was rejected: link (file-1)${others}. The draft has not changed.`,
    );
  });

  it('a fault that is found twice counts once', () => {
    const faults = new BundleFaults();
    for (let n = 0; n < 2; n += 1) faults.addFault('file', 'link');
    expect(faults.toError().options.detail).toContain('link (file).');
  });
});
