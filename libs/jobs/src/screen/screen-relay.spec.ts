import { FrameLimit } from './screen-relay';

describe('the limit of images of a screen', () => {
  /** Returns the times of the images that pass, in milliseconds. */
  const admit = (times: number[]): number[] => {
    const limit = new FrameLimit();
    return times.filter((time) => limit.mayPassFrame(time));
  };

  it('a run’s live screen passes on at most 5 images in any second', () => {
    const passed = admit(Array.from({ length: 3000 }, (_, at) => at));
    expect(passed).toEqual([0, 1, 2, 3, 4, 1000, 1001, 1002, 1003, 1004, 2000, 2001, 2002, 2003, 2004]);
    for (const start of passed) expect(passed.filter((at) => at >= start && at < start + 1000).length).toBeLessThan(6);
  });

  it('a run’s live screen passes on all images that arrive five times a second', () => {
    const times = Array.from({ length: 50 }, (_, at) => at * 200);
    expect(admit(times)).toEqual(times);
  });
});
