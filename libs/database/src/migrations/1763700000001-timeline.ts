import type { MigrationInterface, QueryRunner } from 'typeorm';
import { isolateTenantsOfTable } from '../transactions/tenant-isolation';

/** Timelines: one sequence of entries per agent, partitioned by month. */
export class Timeline1763700000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(timeline);
    for (const table of ['timeline_head', 'timeline_entry']) {
      await isolateTenantsOfTable(runner, table, { tenantColumn: 'organization_id' });
    }
    await runner.query(partitions);
    await runner.query('SELECT keep_timeline_partitions(2, NULL)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP FUNCTION keep_timeline_partitions(integer, interval)');
    await runner.query('DROP TABLE timeline_entry, timeline_head');
  }
}

const timeline = `
  -- The newest sequence number of each agent. Its row lock puts an agent's entries in the order of their commits.
  CREATE TABLE timeline_head (
    agent_id uuid PRIMARY KEY CONSTRAINT timeline_head_agent_fk REFERENCES agent ON DELETE CASCADE,
    organization_id uuid NOT NULL CONSTRAINT timeline_head_organization_fk REFERENCES organization ON DELETE CASCADE,
    last_seq bigint NOT NULL DEFAULT 0
  );
  CREATE TABLE timeline_entry (
    agent_id uuid NOT NULL,
    seq bigint NOT NULL,
    recorded_at timestamptz NOT NULL DEFAULT now(),
    organization_id uuid NOT NULL,
    kind text NOT NULL,
    level text NOT NULL DEFAULT 'info',
    message text NOT NULL,
    source text,
    job_id uuid,
    log_seq bigint,
    data jsonb,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (agent_id, seq, recorded_at)
  ) PARTITION BY RANGE (recorded_at);
  CREATE INDEX timeline_entry_job_idx ON timeline_entry (job_id, seq);`;

const partitions = `
  -- Makes the partitions of this month and of the months ahead, and drops those that are over for longer than kept.
  -- The service may call it and may not alter tables itself.
  CREATE FUNCTION keep_timeline_partitions(months_ahead integer, kept interval) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  DECLARE
    month timestamptz := date_trunc('month', now(), 'UTC');
    first timestamptz;
    part text;
    dropped integer := 0;
  BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('timeline partitions', 0));
    FOR ahead IN -1 .. months_ahead LOOP
      first := month + make_interval(months => ahead);
      part := 'timeline_entry_' || to_char(first AT TIME ZONE 'UTC', 'YYYYMM');
      IF to_regclass(part) IS NULL THEN
        EXECUTE format('CREATE TABLE %I PARTITION OF timeline_entry FOR VALUES FROM (%L) TO (%L)',
          part, first, first + interval '1 month');
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
      END IF;
    END LOOP;
    IF kept IS NOT NULL THEN
      FOR part IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'timeline_entry'::regclass
          AND to_date(right(c.relname, 6), 'YYYYMM') + interval '1 month' < now() - kept
      LOOP
        EXECUTE format('DROP TABLE %I', part);
        dropped := dropped + 1;
      END LOOP;
    END IF;
    RETURN dropped;
  END $$;
  REVOKE ALL ON FUNCTION keep_timeline_partitions(integer, interval) FROM PUBLIC;
  GRANT EXECUTE ON FUNCTION keep_timeline_partitions(integer, interval) TO muster_system;`;
