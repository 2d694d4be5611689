import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * One delivery of an event per recipient of a channel, and indexes on the deliveries that are being sent or were sent.
 */
export class DeliveriesByRecipient1763833400001 implements MigrationInterface {
  /** The table is large, so the indexes are created while it is written to. */
  transaction = false as const;

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('SET lock_timeout = 0');
    try {
      for (const [name, index] of indexes) {
        // An interrupted creation leaves an invalid index.
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
