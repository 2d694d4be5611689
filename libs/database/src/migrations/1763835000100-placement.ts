import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Jobs that require labels instead of naming their agent, and agents that take no such jobs. */
export class Placement1763835000100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const table of ['job', 'concurrency_lease', 'account_use', 'schedule']) {
      await runner.query(`ALTER TABLE ${table} ALTER COLUMN agent_id DROP NOT NULL`);
    }
    await runner.query(`
      ALTER TABLE job ADD COLUMN target_labels text[], ADD COLUMN target_prefer text, ADD COLUMN target_group uuid,
        ADD COLUMN retry_same_agent boolean NOT NULL DEFAULT false, ADD COLUMN placed_at timestamptz,
        ADD COLUMN placement_why text
    `);
    await runner.query('ALTER TABLE schedule ADD COLUMN target_labels text[], ADD COLUMN target_prefer text');
    await runner.query('ALTER TABLE agent ADD COLUMN placement boolean NOT NULL DEFAULT true');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE agent DROP COLUMN placement');
    await runner.query('DELETE FROM schedule WHERE agent_id IS NULL');
    await runner.query('ALTER TABLE schedule DROP COLUMN target_labels, DROP COLUMN target_prefer');
    await runner.query('DELETE FROM job WHERE agent_id IS NULL');
    await runner.query('DELETE FROM concurrency_lease WHERE agent_id IS NULL');
    await runner.query('DELETE FROM account_use WHERE agent_id IS NULL');
    for (const table of ['job', 'concurrency_lease', 'account_use', 'schedule']) {
      await runner.query(`ALTER TABLE ${table} ALTER COLUMN agent_id SET NOT NULL`);
    }
    await runner.query(`
      ALTER TABLE job DROP COLUMN target_labels, DROP COLUMN target_prefer, DROP COLUMN target_group,
        DROP COLUMN retry_same_agent, DROP COLUMN placed_at, DROP COLUMN placement_why
    `);
  }
}
