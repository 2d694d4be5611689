import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { LoopLedger, type LoopRun } from '@muster/platform';
import { Database } from '../database';
import type { LoopRunEntity } from '../entities/loop-run';

/** Maximum time in milliseconds until a round that did nothing is written. */
const gatherMs = 10_000;

/** Stores the last round of each loop. Of the rounds of two replicas the later one wins. */
@Injectable()
export class LoopRuns extends LoopLedger implements OnApplicationShutdown {
  private readonly waiting = new Map<string, LoopRun>();
  private timer?: NodeJS.Timeout;

  constructor(@Inject(Database) private readonly database: Database) {
    super();
  }

  override async recordRun(run: LoopRun, { soon }: { soon: boolean }): Promise<void> {
    this.waiting.set(run.name, run);
    if (soon) return this.writeWaitingRuns();
    this.timer ??= setTimeout(() => void this.writeWaitingRuns().catch(() => undefined), gatherMs);
  }

  onApplicationShutdown(): void {
    clearTimeout(this.timer);
  }

  private async writeWaitingRuns(): Promise<void> {
    clearTimeout(this.timer);
    delete this.timer;
    const runs = [...this.waiting.values()];
    this.waiting.clear();
    // The write does not wait for the disk: the rows are only displayed, and the next round replaces what a crash
    // loses. They are sorted by name, so that two replicas lock the rows in the same order.
    await this.database.queryUnflushed(
      'system',
      `INSERT INTO loop_run AS r (name, app, host, interval_ms, began_at, duration_ms, counts, failed, error, stuck)
       SELECT name, app, host, "intervalMs", "beganAt", "durationMs", counts, failed, error, stuck
       FROM jsonb_to_recordset($1) AS run (
         name text, app text, host text, "intervalMs" bigint, "beganAt" timestamptz, "durationMs" float8, counts jsonb,
         failed int, error text, stuck jsonb)
       ORDER BY name
       ON CONFLICT (name) DO UPDATE
       SET app = excluded.app, host = excluded.host, interval_ms = excluded.interval_ms, began_at = excluded.began_at,
           duration_ms = excluded.duration_ms, counts = excluded.counts, failed = excluded.failed,
           error = excluded.error, stuck = excluded.stuck
       WHERE r.began_at <= excluded.began_at`,
      [JSON.stringify(runs)],
      'record_loop_runs',
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
