import { FakeClock } from '@muster/testing';

/** Advances the service's clock, which dates its rows, so that a month passes within a test. */
export class MovableClock {
  readonly clock = new FakeClock('2026-01-01T00:00:00Z');
  private last: Promise<unknown> = Promise.resolve();

  /** Advances the clock to this time; does nothing if the clock is past it. */
  advanceTo(to: Date): Promise<void> {
    return this.runWithClockStopped(async () => {
      if (to > this.clock.now()) this.clock.set(to);
    });
  }

  /** Runs the work while no other caller advances the clock. */
  runWithClockStopped<T>(work: () => Promise<T>): Promise<T> {
    const done = this.last.then(work);
    this.last = done.catch(() => undefined);
    return done;
  }
}
