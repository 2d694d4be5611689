import { computeIdleSpans } from './compute-idle-spans';

const atMinute = (minute: number) => new Date(Date.UTC(2026, 2, 2, 9, minute));
const makeRun = (queued: number, finished: number | null, scheduled = false) => ({
  queuedAt: atMinute(queued),
  finishedAt: finished === null ? null : atMinute(finished),
  scheduled,
});
const computeTestSpans = (openSince: number | null, ...runs: ReturnType<typeof makeRun>[]) =>
  computeIdleSpans(openSince === null ? null : atMinute(openSince), runs).map(({ beganAt, endedAt, scheduled }) => [
    beganAt.getUTCMinutes(),
    endedAt?.getUTCMinutes() ?? null,
    scheduled,
  ]);

describe('idle times between runs', () => {
  it('an idle time starts at the end of a run and ends when the next run is queued', () => {
    expect(computeTestSpans(null, makeRun(0, 5), makeRun(10, 12, true), makeRun(20, 21))).toEqual([
      [5, 10, true],
      [12, 20, false],
      [21, null, false],
    ]);
  });

  it('there is no idle time while another run waits or is running', () => {
    expect(computeTestSpans(null, makeRun(0, 20), makeRun(5, 8), makeRun(20, 25), makeRun(30, 31))).toEqual([
      [25, 30, false],
      [31, null, false],
    ]);
    expect(computeTestSpans(null, makeRun(0, 5), makeRun(10, null), makeRun(11, 12))).toEqual([[5, 10, false]]);
  });

  it('an open idle time is ended once, by the first run that follows', () => {
    expect(computeTestSpans(3, makeRun(10, 12))).toEqual([
      [3, 10, false],
      [12, null, false],
    ]);
    expect(computeTestSpans(3, makeRun(10, null, true))).toEqual([[3, 10, true]]);
    expect(computeTestSpans(3)).toEqual([]);
  });
});
