import { waitFor } from '@muster/testing';
import type { Pool, PoolClient } from 'pg';

/**
 * The triggers of the statements at which a process can be held while an event is delivered: it has sent the statement,
 * Postgres has not executed it.
 */
export const webhookGateTriggers = {
  'event insert': 'BEFORE INSERT ON webhook_event FOR EACH ROW',
  'event fan-out': 'BEFORE UPDATE ON webhook_event FOR EACH ROW WHEN (NEW.fanned_out_at IS NOT NULL)',
  'delivery insert': 'BEFORE INSERT ON webhook_delivery FOR EACH ROW',
  'delivery claim': 'BEFORE UPDATE ON webhook_delivery FOR EACH ROW WHEN (NEW.lease_id IS NOT NULL)',
  'attempt insert': 'BEFORE INSERT ON webhook_attempt FOR EACH ROW',
  'delivered status update': `BEFORE UPDATE ON webhook_delivery FOR EACH ROW WHEN (NEW.status = 'delivered')`,
};
export type WebhookGate = keyof typeof webhookGateTriggers;

/** First key of the advisory locks of the gates. */
const kind = 4243;

/** Gates before the statements of webhooks. If a process is killed at a gate, its transaction is rolled back. */
export class WebhookGates {
  private constructor(private readonly pool: Pool) {}

  static async build(pool: Pool): Promise<WebhookGates> {
    await pool.query(`
      CREATE FUNCTION pass_webhook_gate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock_shared(${kind}, hashtext(TG_ARGV[0]));
          RETURN NEW;
        END $$`);
    for (const [at, [gate, when]] of Object.entries(webhookGateTriggers).entries()) {
      await pool.query(`CREATE TRIGGER webhook_gate_${at} ${when} EXECUTE FUNCTION pass_webhook_gate('${gate}')`);
    }
    return new WebhookGates(pool);
  }

  /** Closes the gate until the returned `open` is called. */
  async close(gate: WebhookGate): Promise<{ open: () => Promise<void>; reached: () => Promise<unknown> }> {
    const keeper: PoolClient = await this.pool.connect();
    await keeper.query('SELECT pg_advisory_lock($1, hashtext($2))', [kind, gate]);
    return {
      open: async () => {
        await keeper.query('SELECT pg_advisory_unlock($1, hashtext($2))', [kind, gate]);
        keeper.release();
      },
      reached: () =>
        waitFor(`a statement at the gate "${gate}"`, async () => {
          const { rows } = await this.pool.query(
            `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND classid = ${kind}`,
          );
          return rows.length > 0;
        }),
    };
  }
}
