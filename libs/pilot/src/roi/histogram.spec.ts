import { bucketCount, computeHistogramBucket } from './histogram';

describe('the buckets of times', () => {
  it('the histogram of times has a separate bucket for each microsecond below 64', () => {
    const times = Array.from({ length: 64 }, (_, micros) => micros);
    expect(times.map(computeHistogramBucket)).toEqual(times);
  });

  it('the width of a histogram bucket is one thirty-second of its octave, from the first to the last octave', () => {
    for (let octave = 5; octave < 53; octave += 1) {
      const [start, width] = [2 ** octave, 2 ** (octave - 5)];
      const first = computeHistogramBucket(start);
      expect(first).toBe((octave - 5) * 32 + 32);
      expect(computeHistogramBucket(start - 1)).toBe(first - 1);
      expect(computeHistogramBucket(start + width - 1)).toBe(first);
      expect(computeHistogramBucket(start + width)).toBe(first + 1);
    }
    expect(computeHistogramBucket(2 ** 53 - 1)).toBe(bucketCount - 1);
  });
});
