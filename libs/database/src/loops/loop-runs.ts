import { Inject, Injectable } from '@nestjs/common';
import { LoopLedger, type LoopRun } from '@muster/platform';
import { Database } from '../database';
import type { LoopRunEntity } from '../entities/loop-run';

/** Keeps each loop's last round. Of two replicas the later one's stands. */
@Injectable()
export class LoopRuns extends LoopLedger {
  constructor(@Inject(Database) private readonly database: Database) {
    super();
  }

  async record({ name, app, host, intervalMs, beganAt, durationMs, counts, failed, error, stuck }: LoopRun) {
    // For people to look at: what a crash takes back the next round says again.
    await this.database.queryUnflushed(
      'system',
      `INSERT INTO loop_run AS r (name, app, host, interval_ms, began_at, duration_ms, counts, failed, error, stuck)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
       ON CONFLICT (name) DO UPDATE
       SET app = excluded.app, host = excluded.host, interval_ms = excluded.interval_ms, began_at = excluded.began_at,
           duration_ms = excluded.duration_ms, counts = excluded.counts, failed = excluded.failed,
           error = excluded.error, stuck = excluded.stuck
       WHERE r.began_at <= excluded.began_at`,
      [name, app, host, intervalMs, beganAt, durationMs, JSON.stringify(counts), failed, error, JSON.stringify(stuck)],
      'record_loop_run',
    );
  }
}

export function listLoopRuns(database: Database): Promise<LoopRunEntity[]> {
  return database.query<LoopRunEntity & object>(
    'system',
    `SELECT name, app, host, interval_ms, began_at, duration_ms, counts, failed, error, stuck
     FROM loop_run ORDER BY app, name`,
  );
}
