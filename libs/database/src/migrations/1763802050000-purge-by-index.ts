import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Lower bounds of the times of an agent's entries, and indexes with which a purge finds the agents that have expired
 * entries.
 */
export class PurgeByIndex1763802050000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- What is there already may be of any time.
      ALTER TABLE timeline_head
        ADD COLUMN logs_since timestamptz NOT NULL DEFAULT '-infinity',
        ADD COLUMN others_since timestamptz NOT NULL DEFAULT '-infinity';
      ALTER TABLE timeline_head ALTER COLUMN logs_since SET DEFAULT now(), ALTER COLUMN others_since SET DEFAULT now();
      CREATE INDEX timeline_head_logs_since_idx ON timeline_head (organization_id, logs_since);
      CREATE INDEX timeline_head_others_since_idx ON timeline_head (organization_id, others_since);`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE timeline_head DROP COLUMN logs_since, DROP COLUMN others_since');
  }
}
