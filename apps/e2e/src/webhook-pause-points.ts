import { waitFor } from '@muster/testing';
import type { Pool, PoolClient } from 'pg';

/**
 * SQL triggers by pause point of the delivery of a webhook event. At a pause point, a process has sent the statement
 * and Postgres has not executed it.
 */
export const webhookPausePointTriggers = {
  'event insert': 'BEFORE INSERT ON webhook_event FOR EACH ROW',
  'event fan-out': 'BEFORE UPDATE ON webhook_event FOR EACH ROW WHEN (NEW.fanned_out_at IS NOT NULL)',
  'delivery insert': 'BEFORE INSERT ON webhook_delivery FOR EACH ROW',
  'delivery lease': 'BEFORE UPDATE ON webhook_delivery FOR EACH ROW WHEN (NEW.lease_id IS NOT NULL)',
  'attempt insert': 'BEFORE INSERT ON webhook_attempt FOR EACH ROW',
  'delivered status update': `BEFORE UPDATE ON webhook_delivery FOR EACH ROW WHEN (NEW.status = 'delivered')`,
};
export type WebhookPausePoint = keyof typeof webhookPausePointTriggers;

/** First key of the advisory locks of the pause points. */
const kind = 4243;

/**
 * Makes a process wait before it executes a statement. If a test kills the process there, Postgres rolls back its
 * transaction.
 */
export class WebhookPausePoints {
  private constructor(private readonly pool: Pool) {}

  static async createPausePoints(pool: Pool): Promise<WebhookPausePoints> {
    await pool.query(`
      CREATE FUNCTION wait_at_webhook_pause_point() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock_shared(${kind}, hashtext(TG_ARGV[0]));
          RETURN NEW;
        END $$`);
    for (const [at, [pausePoint, when]] of Object.entries(webhookPausePointTriggers).entries()) {
      await pool.query(
        `CREATE TRIGGER webhook_pause_point_${at} ${when} EXECUTE FUNCTION wait_at_webhook_pause_point('${pausePoint}')`,
      );
    }
    return new WebhookPausePoints(pool);
  }

  /** Makes statements wait at the pause point until the returned `release` is called. */
  async pauseAt(
    pausePoint: WebhookPausePoint,
  ): Promise<{ release: () => Promise<void>; untilReached: () => Promise<unknown> }> {
    const keeper: PoolClient = await this.pool.connect();
    await keeper.query('SELECT pg_advisory_lock($1, hashtext($2))', [kind, pausePoint]);
    return {
      release: async () => {
        await keeper.query('SELECT pg_advisory_unlock($1, hashtext($2))', [kind, pausePoint]);
        keeper.release();
      },
      untilReached: () =>
        waitFor(`a statement at the pause point "${pausePoint}"`, async () => {
          const { rows } = await this.pool.query(
            `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND classid = ${kind}`,
          );
          return rows.length > 0;
        }),
    };
  }
}
