import { rateOf } from './queue-rates';

const minuteMs = 60_000;
const now = Date.UTC(2026, 0, 31, 9, 30, 20);
const none = { meta: { count: 0, prevTS: 0, prevCount: 0 }, data: [], count: 0 };
/** What is kept of messages that came in these minutes, the newest first, when the last one came so long ago. */
const kept = (ago: number, current: number, ...data: number[]) => ({
  meta: { count: 1000 + current, prevTS: now - ago * minuteMs, prevCount: 1000 },
  data,
  count: data.length,
});

describe('how fast a queue is worked on', () => {
  it('is nothing where nothing was counted', () => {
    expect(rateOf(none, none, now)).toEqual({ handledLastHour: 0, handledPerMinute: 0, failedLastHour: 0 });
  });

  it('counts the last hour, the minute that is not over among it, and the rate of whole minutes', () => {
    expect(rateOf(kept(0, 7, 10, 0, 20, 5, 5, 100), kept(0, 2), now)).toEqual({
      handledLastHour: 147,
      handledPerMinute: 8,
      failedLastHour: 2,
    });
  });

  it('counts what processes handled without the queue, each in its minute', () => {
    const handedOff = { completed: [3, 5, 5, 5, 5, 5], failed: [1] };
    expect(rateOf(kept(0, 7, 10, 0, 20, 5, 5), kept(0, 2), now, handedOff)).toEqual({
      handledLastHour: 47 + 28,
      handledPerMinute: 13,
      failedLastHour: 3,
    });
  });

  it('forgets with the time what came before it, though nothing has come since', () => {
    const rate = (ago: number) => rateOf(kept(ago, 7, ...Array.from({ length: 59 }, () => 1)), kept(ago, 2), now);
    expect(rate(2)).toEqual({ handledLastHour: 64, handledPerMinute: 2, failedLastHour: 2 });
    expect(rate(59)).toEqual({ handledLastHour: 7, handledPerMinute: 0, failedLastHour: 2 });
    expect(rate(60)).toEqual({ handledLastHour: 0, handledPerMinute: 0, failedLastHour: 0 });
    expect(rate(100_000)).toEqual({ handledLastHour: 0, handledPerMinute: 0, failedLastHour: 0 });
  });
});
