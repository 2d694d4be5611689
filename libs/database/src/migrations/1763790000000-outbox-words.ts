import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Renames columns of the outbox: a message is published. */
export class OutboxWords1763790000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE outbox RENAME COLUMN next_ring_at TO next_publish_at');
    await runner.query('ALTER INDEX outbox_ring_idx RENAME TO outbox_publish_idx');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER INDEX outbox_publish_idx RENAME TO outbox_ring_idx');
    await runner.query('ALTER TABLE outbox RENAME COLUMN next_publish_at TO next_ring_at');
  }
}
