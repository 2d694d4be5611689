import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Of an endpoint that is off, what somebody asked for is found without a look at all that waits for it. */
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
