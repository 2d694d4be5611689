import { computeIdleSpans } from './compute-idle-spans';

const at = (minute: number) => new Date(Date.UTC(2026, 2, 2, 9, minute));
const run = (queued: number, finished: number | null, scheduled = false) => ({
  queuedAt: at(queued),
  finishedAt: finished === null ? null : at(finished),
  scheduled,
});
const spansOf = (openSince: number | null, ...runs: ReturnType<typeof run>[]) =>
  computeIdleSpans(openSince === null ? null : at(openSince), runs).map(({ beganAt, endedAt, scheduled }) => [
    beganAt.getUTCMinutes(),
    endedAt?.getUTCMinutes() ?? null,
    scheduled,
  ]);

describe('idle times between runs', () => {
  it('an idle time starts at the end of a run and ends when the next run is queued', () => {
    expect(spansOf(null, run(0, 5), run(10, 12, true), run(20, 21))).toEqual([
      [5, 10, true],
      [12, 20, false],
      [21, null, false],
    ]);
  });

  it('there is no idle time while another run waits or is running', () => {
    expect(spansOf(null, run(0, 20), run(5, 8), run(20, 25), run(30, 31))).toEqual([
      [25, 30, false],
      [31, null, false],
    ]);
    expect(spansOf(null, run(0, 5), run(10, null), run(11, 12))).toEqual([[5, 10, false]]);
  });

  it('an open idle time is ended once, by the first run that follows', () => {
    expect(spansOf(3, run(10, 12))).toEqual([
      [3, 10, false],
      [12, null, false],
    ]);
    expect(spansOf(3, run(10, null, true))).toEqual([[3, 10, true]]);
    expect(spansOf(3)).toEqual([]);
  });
});
