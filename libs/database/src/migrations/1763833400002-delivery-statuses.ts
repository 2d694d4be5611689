import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The statuses of deliveries are checked of those before them too. */
export class DeliveryStatuses1763833400002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhook_delivery VALIDATE CONSTRAINT webhook_delivery_status_check');
  }

  async down(): Promise<void> {
    // What was looked through stays so.
  }
}
