import { Clock } from '@muster/platform';

/** A clock that stands still until a test sets it. */
export class FakeClock extends Clock {
  private time: number;

  constructor(start: Date | string = '2026-03-02T09:00:00.000Z') {
    super();
    this.time = new Date(start).getTime();
  }

  override now(): Date {
    return new Date(this.time);
  }

  advance(ms: number): void {
    this.time += ms;
  }

  /** Returns a running clock that is ahead of the real one, or behind it if `ms` is negative. */
  static createClockAheadBy(ms: number): Clock {
    return { now: () => new Date(Date.now() + ms) };
  }

  set(time: Date | string): void {
    this.time = new Date(time).getTime();
  }
}
