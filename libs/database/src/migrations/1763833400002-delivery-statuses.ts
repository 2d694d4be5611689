import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Validates the check on the status of deliveries for existing rows. */
export class DeliveryStatuses1763833400002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE webhook_delivery VALIDATE CONSTRAINT webhook_delivery_status_check');
  }

  async down(): Promise<void> {
    // Undoing this migration changes nothing, because the constraint may stay validated.
  }
}
