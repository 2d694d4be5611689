import { waitFor } from '@muster/testing';
import type { Pool, PoolClient } from 'pg';

/** First key of the advisory locks of the gates. */
const kind = 4242;

/** The gates by name, each with the event of the trigger that holds the statement. */
export type Places<Place extends string> = Record<Place, string>;

/**
 * Gates before statements of one agent, built from triggers and advisory locks. A statement waits at a closed gate. If
 * its process is killed there, the statement is rolled back. So the process dies exactly between two of its commits.
 */
export class StatementGates<Place extends string> {
  private readonly closed: { agentId: string; place: Place; keeper: PoolClient }[] = [];

  private constructor(private readonly pool: Pool) {}

  /** `keyOf` is an SQL expression over `item` (the row as JSON) and `table_name`; its value selects the gate. */
  static async build<Place extends string>(
    pool: Pool,
    places: Places<Place>,
    keyOf = `item->>'agent_id'`,
  ): Promise<StatementGates<Place>> {
    await pool.query(`
      CREATE FUNCTION gate_of(item jsonb, table_name text) RETURNS text LANGUAGE sql AS $$ SELECT ${keyOf} $$;
      CREATE FUNCTION pass_gate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock_shared(${kind}, hashtext(public.gate_of(to_jsonb(NEW), TG_TABLE_NAME) || TG_ARGV[0]));
          RETURN NEW;
        END $$`);
    for (const [index, [place, when]] of Object.entries<string>(places).entries()) {
      const rows = when.includes('FOR EACH ROW') ? when : `${when} FOR EACH ROW`;
      await pool.query(`CREATE TRIGGER gate_${index} ${rows} EXECUTE FUNCTION pass_gate('${place}')`);
    }
    return new StatementGates(pool);
  }

  async close(agentId: string, place: Place): Promise<void> {
    const keeper = await this.pool.connect();
    await keeper.query(`SELECT pg_advisory_lock(${kind}, hashtext($1))`, [agentId + place]);
    this.closed.push({ agentId, place, keeper });
  }

  async reached(agentId: string, place: Place): Promise<void> {
    await waitFor(
      `${agentId} at the gate "${place}"`,
      async () => (await this.waiting(agentId, place)).length > 0,
      60_000,
    );
  }

  /** Terminates the connections that wait at a gate, so that their statements have no effect, and opens all gates. */
  async openAll(): Promise<void> {
    for (const { agentId, place, keeper } of this.closed.splice(0)) {
      await keeper.query('SELECT pg_terminate_backend(pid, 10000) FROM unnest($1::int[]) AS pid', [
        await this.waiting(agentId, place),
      ]);
      await keeper.query(`SELECT pg_advisory_unlock(${kind}, hashtext($1))`, [agentId + place]);
      keeper.release();
    }
  }

  private async waiting(agentId: string, place: Place): Promise<number[]> {
    const { rows } = await this.pool.query<{ pid: number }>(
      `SELECT pid FROM pg_locks
       WHERE locktype = 'advisory' AND NOT granted AND classid = ${kind}
         AND objid = (hashtext($1)::bigint & 4294967295)::oid
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      [agentId + place],
    );
    return rows.map(({ pid }) => pid);
  }
}
