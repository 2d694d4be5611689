import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * A statement that waits for an ACCESS EXCLUSIVE lock blocks every later reader and writer of the table. Therefore a
 * new partition is created as a separate table and attached, which needs no such lock. An old partition is dropped only
 * if the lock is available within a tenth of a second; otherwise the next round of the loop tries again.
 */
export class BriefPartitionLocks1763834000100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await definePartitionFunctions(runner, {
      now: 'muster_now()',
      create: `
        EXECUTE format('CREATE TABLE %I (LIKE timeline_entry INCLUDING ALL)', part);
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
        EXECUTE format('ALTER TABLE timeline_entry ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
          part, first, first + interval '1 month');`,
      drop: `
        BEGIN
          PERFORM set_config('lock_timeout', '100ms', true);
          EXECUTE format('DROP TABLE %I', part);
          dropped := dropped + 1;
        EXCEPTION WHEN lock_not_available THEN
          RAISE LOG 'partition % is in use and will be dropped later', part;
        END;`,
    });
  }

  async down(runner: QueryRunner): Promise<void> {
    await definePartitionFunctions(runner, {
      now: 'now()',
      create: `
        EXECUTE format('CREATE TABLE %I PARTITION OF timeline_entry FOR VALUES FROM (%L) TO (%L)',
          part, first, first + interval '1 month');
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);`,
      drop: `
        EXECUTE format('DROP TABLE %I', part);
        dropped := dropped + 1;`,
    });
  }
}

async function definePartitionFunctions(
  runner: QueryRunner,
  { now, create, drop }: { now: string; create: string; drop: string },
): Promise<void> {
  await runner.query(`
  CREATE OR REPLACE FUNCTION keep_timeline_partitions(months_ahead integer, kept interval) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
  DECLARE
    month timestamptz := date_trunc('month', ${now}, 'UTC');
    first timestamptz;
    part text;
    dropped integer := 0;
  BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('timeline partitions', 0));
    FOR ahead IN -1 .. months_ahead LOOP
      first := month + make_interval(months => ahead);
      part := 'timeline_entry_' || to_char(first AT TIME ZONE 'UTC', 'YYYYMM');
      IF to_regclass(part) IS NULL THEN ${create}
      END IF;
    END LOOP;
    IF kept IS NOT NULL THEN
      FOR part IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'timeline_entry'::regclass
          AND to_date(right(c.relname, 6), 'YYYYMM') + interval '1 month' < ${now} - kept
      LOOP ${drop}
      END LOOP;
    END IF;
    RETURN dropped;
  END $$`);
}
