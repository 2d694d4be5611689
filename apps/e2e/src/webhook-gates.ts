import { waitFor } from '@muster/testing';
import type { Pool, PoolClient } from 'pg';

/** Where a process can be held on a fact's way, as the statement that it has sent and Postgres has not carried out. */
export const webhookPlaces = {
  'fact written': 'BEFORE INSERT ON webhook_event FOR EACH ROW',
  'fanned out': 'BEFORE UPDATE ON webhook_event FOR EACH ROW WHEN (NEW.fanned_out_at IS NOT NULL)',
  'delivery written': 'BEFORE INSERT ON webhook_delivery FOR EACH ROW',
  'delivery claimed': 'BEFORE UPDATE ON webhook_delivery FOR EACH ROW WHEN (NEW.lease_id IS NOT NULL)',
  'sent, and not noted': 'BEFORE INSERT ON webhook_attempt FOR EACH ROW',
  'noted, and not settled': `BEFORE UPDATE ON webhook_delivery FOR EACH ROW WHEN (NEW.status = 'delivered')`,
};
export type WebhookPlace = keyof typeof webhookPlaces;

/** Ours among the advisory locks. */
const kind = 4243;

/** Gates before the statements of webhooks: who is killed at one has his transaction undone. */
export class WebhookGates {
  private constructor(private readonly pool: Pool) {}

  static async build(pool: Pool): Promise<WebhookGates> {
    await pool.query(`
      CREATE FUNCTION pass_webhook_gate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock_shared(${kind}, hashtext(TG_ARGV[0]));
          RETURN NEW;
        END $$`);
    for (const [at, [place, when]] of Object.entries(webhookPlaces).entries()) {
      await pool.query(`CREATE TRIGGER webhook_gate_${at} ${when} EXECUTE FUNCTION pass_webhook_gate('${place}')`);
    }
    return new WebhookGates(pool);
  }

  /** Nobody passes, until what it answers is called. */
  async close(place: WebhookPlace): Promise<{ open: () => Promise<void>; reached: () => Promise<unknown> }> {
    const keeper: PoolClient = await this.pool.connect();
    await keeper.query('SELECT pg_advisory_lock($1, hashtext($2))', [kind, place]);
    return {
      open: async () => {
        await keeper.query('SELECT pg_advisory_unlock($1, hashtext($2))', [kind, place]);
        keeper.release();
      },
      reached: () =>
        waitFor(`somebody at "${place}"`, async () => {
          const { rows } = await this.pool.query(
            `SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND classid = ${kind}`,
          );
          return rows.length > 0;
        }),
    };
  }
}
