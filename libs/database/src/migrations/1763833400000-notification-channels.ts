import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Channels that notify people: endpoints with a name. A message to people is sent at most once, so it is marked before
 * it is sent.
 */
export class NotificationChannels1763833400000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE webhook_endpoint
        ALTER url DROP NOT NULL,
        ADD kind text NOT NULL DEFAULT 'webhook'
          CONSTRAINT webhook_endpoint_kind_check CHECK (kind IN ('webhook', 'email', 'slack', 'teams')),
        ADD name text,
        ADD recipients text[] NOT NULL DEFAULT '{}',
        ADD filter jsonb;

      ALTER TABLE webhook_delivery
        DROP CONSTRAINT webhook_delivery_status_check,
        ADD recipient text NOT NULL DEFAULT '',
        ADD sent_at timestamptz;
      ALTER TABLE webhook_delivery ADD CONSTRAINT webhook_delivery_status_check
        CHECK (status IN ('pending', 'sending', 'delivered', 'dead', 'unclear')) NOT VALID;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DELETE FROM webhook_endpoint WHERE name IS NOT NULL;
      ALTER TABLE webhook_delivery
        DROP recipient,
        DROP sent_at,
        DROP CONSTRAINT webhook_delivery_status_check,
        ADD CONSTRAINT webhook_delivery_status_check CHECK (status IN ('pending', 'delivered', 'dead'));
      ALTER TABLE webhook_endpoint
        ALTER url SET NOT NULL, DROP kind, DROP name, DROP recipients, DROP filter;
    `);
  }
}
