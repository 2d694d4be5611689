import { Inject, Injectable } from '@nestjs/common';
import { Clock, Periodic, ServiceClock } from '@muster/platform';
import { Database } from './database';

/** Maximum time in milliseconds until a change of the database's clock is noticed. */
const intervalMs = 5000;

/** Synchronizes the clock of this process with that of the database, so that all processes agree on the time. */
@Injectable()
export class ClockSync {
  private readonly periodic = new Periodic({ name: 'clock sync', intervalMs, runOnce: () => this.syncOnce() });

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /**
   * Returns after the clock of the database was read once. Throws if that failed; it is tried again after the interval.
   */
  async start(): Promise<void> {
    // The clock of a test is not synchronized, because the test sets it.
    if (!(this.clock instanceof ServiceClock)) return;
    this.periodic.start();
    await this.syncOnce();
  }

  stop(): Promise<void> {
    return this.periodic.stop();
  }

  private async syncOnce(): Promise<void> {
    const requestedAt = performance.now();
    const [row] = await this.database.query<{ readMs: number }>(
      'system',
      // eslint-disable-next-line muster/one-clock -- this is where the service's clock comes from
      'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS read_ms',
      [],
      'read_clock',
    );
    const answeredAt = performance.now();
    (this.clock as ServiceClock).adjustToReading({ readMs: row!.readMs, requestedAt, answeredAt });
  }
}
