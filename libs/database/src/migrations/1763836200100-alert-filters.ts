import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The workflow and the agent of an alert, so that the message about its resolution passes the same channel filters. */
export class AlertFilters1763836200100 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE alert ADD workflow_id uuid, ADD agent_id uuid');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DELETE FROM webhook_event WHERE type = 'alert.resolved';
      DELETE FROM organization_event WHERE type = 'alert';
      ALTER TABLE alert DROP agent_id, DROP workflow_id;
    `);
  }
}
