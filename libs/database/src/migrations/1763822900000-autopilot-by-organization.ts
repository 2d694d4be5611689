import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An index for the list of an organization's sessions on all agents. */
export class AutopilotByOrganization1763822900000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX autopilot_session_list_idx ON autopilot_session (organization_id, id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX autopilot_session_list_idx');
  }
}
