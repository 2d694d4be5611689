import { chooseIdleLimit, addIdleGap, maxGaps } from './choose-idle-limit';

const minute = 60_000;
const facts = { limitMs: 30 * minute, bootMs: minute, runInMs: null };
const minutesToMs = (...gaps: number[]) => gaps.map((gap) => gap * minute);
const repeatGap = (count: number, gap: number) => minutesToMs(...Array.from({ length: count }, () => gap));

describe('how long an idle machine stays on', () => {
  it('the adaptive idle limit is 0 if the next run never arrives within the organization’s limit', () => {
    expect(chooseIdleLimit({ ...facts, gaps: repeatGap(20, 240) })).toEqual({
      limitMs: 0,
      usualMs: null,
      learnedFrom: 20,
    });
  });

  it('the adaptive idle limit is the time until the next run usually arrives, if that is short', () => {
    expect(chooseIdleLimit({ ...facts, gaps: repeatGap(20, 2) })).toEqual({
      limitMs: 2 * minute,
      usualMs: 2 * minute,
      learnedFrom: 20,
    });
    expect(
      chooseIdleLimit({ ...facts, gaps: [...repeatGap(10, 1), ...repeatGap(1, 300), ...repeatGap(9, 1)] }).limitMs,
    ).toBe(minute);
  });

  it('the adaptive idle limit never exceeds the limit of the organization', () => {
    expect(chooseIdleLimit({ ...facts, limitMs: minute, gaps: repeatGap(20, 2) }).limitMs).toBe(0);
    expect(chooseIdleLimit({ ...facts, limitMs: minute, gaps: [] }).limitMs).toBe(minute);
    for (let seed = 0; seed < 50; seed += 1) {
      const gaps = Array.from({ length: 20 }, (_, at) => ((seed * 7919 + at * 104_729) % 4000) * 1000 + 1);
      for (const runInMs of [null, 0, minute, 29 * minute, 31 * minute]) {
        const { limitMs } = chooseIdleLimit({ ...facts, gaps, runInMs });
        expect(limitMs).toBeGreaterThanOrEqual(0);
        expect(limitMs).toBeLessThanOrEqual(facts.limitMs);
      }
    }
  });

  it('the adaptive idle limit lasts until a scheduled run if another start would cost as much as the wait', () => {
    const gaps = repeatGap(20, 240);
    expect(chooseIdleLimit({ ...facts, gaps, runInMs: minute }).limitMs).toBe(minute);
    expect(chooseIdleLimit({ ...facts, gaps, runInMs: 10 * minute }).limitMs).toBe(0);
    expect(chooseIdleLimit({ ...facts, bootMs: 10 * minute, gaps, runInMs: 10 * minute }).limitMs).toBe(10 * minute);
  });

  it('the adaptive idle limit is five minutes while there are few idle times to learn from', () => {
    expect(chooseIdleLimit({ ...facts, gaps: [] })).toEqual({ limitMs: 5 * minute, usualMs: null, learnedFrom: 0 });
    expect(chooseIdleLimit({ ...facts, gaps: repeatGap(4, 240) }).limitMs).toBe(5 * minute);
    expect(chooseIdleLimit({ ...facts, gaps: [], runInMs: 6 * minute }).limitMs).toBe(6 * minute);
  });

  it('the adaptive idle limit follows a change in the idle times', () => {
    expect(chooseIdleLimit({ ...facts, gaps: [...repeatGap(40, 2), ...repeatGap(24, 240)] }).limitMs).toBe(2 * minute);
    expect(chooseIdleLimit({ ...facts, gaps: [...repeatGap(40, 240), ...repeatGap(24, 2)] }).limitMs).toBe(0);
  });

  it('the adaptive idle limit ignores idle times that a schedule ended early', () => {
    expect(chooseIdleLimit({ ...facts, gaps: [...repeatGap(30, -1), ...repeatGap(10, 240)] })).toMatchObject({
      limitMs: 0,
      learnedFrom: 10,
    });
    expect(chooseIdleLimit({ ...facts, gaps: repeatGap(30, -240) })).toMatchObject({ limitMs: 0, learnedFrom: 30 });
  });

  it('a limited number of idle times is stored, the newest first', () => {
    let gaps: number[] = [];
    for (let at = 1; at <= 100; at += 1) gaps = addIdleGap(gaps, { ms: at, scheduled: at % 2 === 0 });
    expect([gaps.length, gaps.slice(0, 3)]).toEqual([maxGaps, [-100, 99, -98]]);
  });
});
