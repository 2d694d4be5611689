import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * An index on requested deliveries, so that those of a disabled endpoint are found without a scan of all its pending
 * ones.
 */
export class AskedDeliveries1763828000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE INDEX webhook_delivery_asked_idx ON webhook_delivery (endpoint_id, due_at)
        WHERE status = 'pending' AND asked`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX webhook_delivery_asked_idx');
  }
}
