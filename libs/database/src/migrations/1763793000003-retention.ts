import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The retention periods of each organization in days; null retains data forever. */
export class Retention1763793000003 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE organization_settings
        ADD log_retention_days integer DEFAULT 90,
        ADD timeline_retention_days integer DEFAULT 90,
        ADD step_retention_days integer,
        ADD claim_retention_days integer,
        ADD usage_retention_days integer,
        ADD cost_retention_days integer`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE organization_settings
        DROP log_retention_days, DROP timeline_retention_days, DROP step_retention_days, DROP claim_retention_days,
        DROP usage_retention_days, DROP cost_retention_days`);
  }
}
