import { FakeClock } from '@muster/testing';

/** Lets a whole month pass within a test: the service's clock, which its rows are dated by, is moved. */
export class TimeMachine {
  readonly clock = new FakeClock('2026-01-01T00:00:00Z');
  private last: Promise<unknown> = Promise.resolve();

  /** From here on it is at least this time. */
  go(to: Date): Promise<void> {
    return this.still(async () => {
      if (to > this.clock.now()) this.clock.set(to);
    });
  }

  /** Nobody moves the time while this is done. */
  still<T>(work: () => Promise<T>): Promise<T> {
    const done = this.last.then(work);
    this.last = done.catch(() => undefined);
    return done;
  }
}
