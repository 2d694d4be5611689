import { computeQueueRate } from './queue-rates';

const minuteMs = 60_000;
const now = Date.UTC(2026, 0, 31, 9, 30, 20);
const none = { meta: { count: 0, prevTS: 0, prevCount: 0 }, data: [], count: 0 };
/**
 * BullMQ's metrics: messages per minute, the newest minute first, if the last message was handled `ago` minutes ago.
 */
const makeQueueMetrics = (ago: number, current: number, ...data: number[]) => ({
  meta: { count: 1000 + current, prevTS: now - ago * minuteMs, prevCount: 1000 },
  data,
  count: data.length,
});

describe('the rate of a queue', () => {
  it('the rate of a queue is 0 if no message was counted', () => {
    expect(computeQueueRate(none, none, now)).toEqual({ handledLastHour: 0, handledPerMinute: 0, failedLastHour: 0 });
  });

  it('the count of the last hour includes the current minute, and the rate of a queue is the average of the complete minutes', () => {
    expect(computeQueueRate(makeQueueMetrics(0, 7, 10, 0, 20, 5, 5, 100), makeQueueMetrics(0, 2), now)).toEqual({
      handledLastHour: 147,
      handledPerMinute: 8,
      failedLastHour: 2,
    });
  });

  it('the rate of a queue includes messages that a process handled directly, bypassing the queue', () => {
    const handedOff = { completed: [3, 5, 5, 5, 5, 5], failed: [1] };
    expect(computeQueueRate(makeQueueMetrics(0, 7, 10, 0, 20, 5, 5), makeQueueMetrics(0, 2), now, handedOff)).toEqual({
      handledLastHour: 47 + 28,
      handledPerMinute: 13,
      failedLastHour: 3,
    });
  });

  it('the rate of a queue drops messages that are older than an hour, even if no message followed', () => {
    const rate = (ago: number) =>
      computeQueueRate(makeQueueMetrics(ago, 7, ...Array.from({ length: 59 }, () => 1)), makeQueueMetrics(ago, 2), now);
    expect(rate(2)).toEqual({ handledLastHour: 64, handledPerMinute: 2, failedLastHour: 2 });
    expect(rate(59)).toEqual({ handledLastHour: 7, handledPerMinute: 0, failedLastHour: 2 });
    expect(rate(60)).toEqual({ handledLastHour: 0, handledPerMinute: 0, failedLastHour: 0 });
    expect(rate(100_000)).toEqual({ handledLastHour: 0, handledPerMinute: 0, failedLastHour: 0 });
  });
});
