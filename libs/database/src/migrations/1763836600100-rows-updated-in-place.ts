import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Postgres updates a row in place (HOT) only if no index of its table contains a changed column, also not in its
 * condition. Otherwise it writes a new entry into every index. Therefore no index of `agent` contains a column that
 * heartbeats and runs change: the time of the last report, the last activity, and the current job. The rounds that
 * search these columns read the agents that are on, or all agents.
 *
 * Also removes what each run wrote into indexes that need it not: the run's start for the search of running jobs, which
 * are at most as many as agents; its reservation, if it reserves nothing; and the deadline of its command, which is not
 * enforced.
 */
export class RowsUpdatedInPlace1763836600100 implements MigrationInterface {
  /** The tables are large, so the indexes are created and dropped while they are written to. */
  transaction = false as const;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('SET lock_timeout = 0');
    try {
      for (const [name, index] of indexes) {
        // An interrupted creation leaves an invalid index.
        await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
        await runner.query(`CREATE INDEX CONCURRENTLY ${name} ${index}`);
      }
      for (const [name] of dropped) await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
    } finally {
      await runner.query('RESET lock_timeout');
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [name, index] of dropped) await runner.query(`CREATE INDEX IF NOT EXISTS ${name} ${index}`);
    for (const [name] of indexes) await runner.query(`DROP INDEX IF EXISTS ${name}`);
  }
}

const indexes = [
  ['agent_on_idx', `ON agent (id) WHERE status IN ('online', 'draining')`],
  [
    'agent_stoppable_idx',
    `ON agent (organization_id, id)
       WHERE status IN ('online', 'offline') AND provider <> 'external' AND NOT idle_auto_stop_exempt AND drain IS NULL`,
  ],
  ['job_reserved_idx', 'ON job (organization_id, reserved_micros) WHERE reserved_micros > 0'],
  ['agent_command_overdue_idx', `ON agent_command (deadline) WHERE status = 'pending' AND kind <> 'run'`],
] as const;

const dropped = [
  ['agent_watch_idx', `ON agent (last_seen) WHERE status IN ('online', 'draining')`],
  [
    'agent_idle_idx',
    `ON agent (organization_id, (COALESCE(last_activity_at, status_since)))
       WHERE status IN ('online', 'offline') AND provider <> 'external' AND NOT idle_auto_stop_exempt AND drain IS NULL`,
  ],
  ['agent_held_idx', 'ON agent (dispatched_at) WHERE current_job_id IS NOT NULL'],
  [
    'job_open_idx',
    `ON job (organization_id, reserved_micros) WHERE status IN ('queued', 'running') OR reserved_micros > 0`,
  ],
  ['job_started_idx', `ON job (started_at) WHERE status = 'running'`],
  ['agent_command_deadline_idx', `ON agent_command (deadline) WHERE status = 'pending'`],
] as const;
