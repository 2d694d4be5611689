import { Injectable } from '@nestjs/common';

/** The time, injected so that tests can set it. */
export abstract class Clock {
  abstract now(): Date;
}

/**
 * A backwards correction by less than this number of milliseconds makes the clock stand still until the time has caught
 * up. A larger one is a jump that moves the clock back.
 */
const jumpMs = 1000;

/**
 * The time of the service, which is the same in all of its processes. It starts as the time of this machine and then
 * follows the database (`ClockSync`), because a time that one process stores is compared with the time of another:
 * deadlines, leases, pauses between attempts. Between two readings it advances with the monotonic timer, so a jump of
 * the machine's clock does not move it.
 */
@Injectable()
export class ServiceClock extends Clock {
  /** Milliseconds since 1970 at the moment when `performance.now()` was 0. */
  private originMs = Date.now() - performance.now();

  private lastMs = 0;

  override now(): Date {
    const ms = this.originMs + performance.now();
    // After a small correction the clock stands still instead of moving back, so that a later event never gets an
    // earlier time.
    this.lastMs = ms < this.lastMs && this.lastMs - ms < jumpMs ? this.lastMs : ms;
    return new Date(this.lastMs);
  }

  /** Adjusts the clock to a reading of another clock, which was made between two values of `performance.now()`. */
  adjustToReading({ readMs, requestedAt, answeredAt }: ClockReading): void {
    const earliest = readMs - answeredAt;
    const latest = readMs - requestedAt;
    // The clock is not moved if its time is within the uncertainty of the reading, because that would only add jitter.
    if (this.originMs < earliest || this.originMs > latest) this.originMs = (earliest + latest) / 2;
  }
}

export interface ClockReading {
  /** The time that was read, in milliseconds since 1970. */
  readMs: number;
  /** `performance.now()` before and after the reading. */
  requestedAt: number;
  answeredAt: number;
}
