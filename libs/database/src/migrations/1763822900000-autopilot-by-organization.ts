import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An organization's sessions are listed whatever their agent. */
export class AutopilotByOrganization1763822900000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX autopilot_session_list_idx ON autopilot_session (organization_id, id)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX autopilot_session_list_idx');
  }
}
