import { Injectable } from '@nestjs/common';

/** The time, injected so that tests can move it. */
export abstract class Clock {
  abstract now(): Date;
}

/** A smaller difference is a correction: the clock stands still until the time has caught up with it. */
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
    // A correction by milliseconds must not make a later event look earlier. A jump is followed.
    this.lastMs = ms < this.lastMs && this.lastMs - ms < jumpMs ? this.lastMs : ms;
    return new Date(this.lastMs);
  }

  /** Adjusts the clock to a reading of another one, made between two values of `performance.now()`. */
  follow({ readMs, requestedAt, answeredAt }: ClockReading): void {
    const earliest = readMs - answeredAt;
    const latest = readMs - requestedAt;
    // Within the reading's own uncertainty the clock is right, and moving it would only add jitter.
    if (this.originMs < earliest || this.originMs > latest) this.originMs = (earliest + latest) / 2;
  }
}

export interface ClockReading {
  /** Milliseconds since 1970. */
  readMs: number;
  /** `performance.now()` before and after the reading. */
  requestedAt: number;
  answeredAt: number;
}
