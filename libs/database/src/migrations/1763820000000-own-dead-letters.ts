import type { MigrationInterface, QueryRunner } from 'typeorm';

/** An organization can list its dead letters and replay them. */
export class OwnDeadLetters1763820000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX outbox_dead_organization_idx ON outbox (organization_id, id) WHERE next_publish_at IS NULL;
      GRANT SELECT, UPDATE (next_publish_at, attempts) ON outbox TO muster_app;`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      REVOKE SELECT, UPDATE (next_publish_at, attempts) ON outbox FROM muster_app;
      DROP INDEX outbox_dead_organization_idx;`);
  }
}
