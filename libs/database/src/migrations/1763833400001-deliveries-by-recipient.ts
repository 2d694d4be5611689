import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Of one fact each recipient of a channel has a delivery; and what is being sent, and was, is found by index. */
export class DeliveriesByRecipient1763833400001 implements MigrationInterface {
  /** Deliveries are many: the indexes are made while they are written. */
  transaction = false as const;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('SET lock_timeout = 0');
    try {
      for (const [name, index] of indexes) {
        // One that was broken off is of no use.
        await runner.query(`DROP INDEX CONCURRENTLY IF EXISTS ${name}`);
        await runner.query(index);
      }
      await runner.query('DROP INDEX CONCURRENTLY IF EXISTS webhook_delivery_event_key');
    } finally {
      await runner.query('RESET lock_timeout');
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const [name] of indexes) await runner.query(`DROP INDEX IF EXISTS ${name}`);
    await runner.query('DELETE FROM webhook_endpoint WHERE name IS NOT NULL');
    await runner.query(
      'CREATE UNIQUE INDEX IF NOT EXISTS webhook_delivery_event_key ON webhook_delivery (event_id, endpoint_id)',
    );
  }
}

const indexes = [
  [
    'webhook_delivery_recipient_key',
    `CREATE UNIQUE INDEX CONCURRENTLY webhook_delivery_recipient_key
       ON webhook_delivery (event_id, endpoint_id, recipient)`,
  ],
  [
    'webhook_delivery_sending_idx',
    `CREATE INDEX CONCURRENTLY webhook_delivery_sending_idx ON webhook_delivery (leased_until) WHERE status = 'sending'`,
  ],
  [
    'webhook_delivery_sent_idx',
    `CREATE INDEX CONCURRENTLY webhook_delivery_sent_idx ON webhook_delivery (endpoint_id, recipient, sent_at)
       WHERE sent_at IS NOT NULL`,
  ],
] as const;
