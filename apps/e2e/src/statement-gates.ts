import { waitFor } from '@muster/testing';
import type { Pool, PoolClient } from 'pg';

/** First key of the advisory locks of the gates. */
const kind = 4242;

/** For each gate, the event of the SQL trigger that holds the statement, such as `BEFORE INSERT ON job`. */
export type GateTriggers<Gate extends string> = Record<Gate, string>;

/**
 * Gates before statements of one agent, built from triggers and advisory locks. A statement waits at a closed gate. If
 * its process is killed there, the statement is rolled back. So the process dies exactly between two of its commits.
 */
export class StatementGates<Gate extends string> {
  private readonly closed: { agentId: string; gate: Gate; keeper: PoolClient }[] = [];

  private constructor(private readonly pool: Pool) {}

  /** `keyOf` is an SQL expression over `item` (the row as JSON) and `table_name`; its value selects the gate. */
  static async build<Gate extends string>(
    pool: Pool,
    triggers: GateTriggers<Gate>,
    keyOf = `item->>'agent_id'`,
  ): Promise<StatementGates<Gate>> {
    await pool.query(`
      CREATE FUNCTION gate_of(item jsonb, table_name text) RETURNS text LANGUAGE sql AS $$ SELECT ${keyOf} $$;
      CREATE FUNCTION pass_gate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock_shared(${kind}, hashtext(public.gate_of(to_jsonb(NEW), TG_TABLE_NAME) || TG_ARGV[0]));
          RETURN NEW;
        END $$`);
    for (const [index, [gate, when]] of Object.entries<string>(triggers).entries()) {
      const rows = when.includes('FOR EACH ROW') ? when : `${when} FOR EACH ROW`;
      await pool.query(`CREATE TRIGGER gate_${index} ${rows} EXECUTE FUNCTION pass_gate('${gate}')`);
    }
    return new StatementGates(pool);
  }

  async close(agentId: string, gate: Gate): Promise<void> {
    const keeper = await this.pool.connect();
    await keeper.query(`SELECT pg_advisory_lock(${kind}, hashtext($1))`, [agentId + gate]);
    this.closed.push({ agentId, gate, keeper });
  }

  async reached(agentId: string, gate: Gate): Promise<void> {
    await waitFor(
      `${agentId} at the gate "${gate}"`,
      async () => (await this.waiting(agentId, gate)).length > 0,
      60_000,
    );
  }

  /** Terminates the connections that wait at a gate, so that their statements have no effect, and opens all gates. */
  async openAll(): Promise<void> {
    for (const { agentId, gate, keeper } of this.closed.splice(0)) {
      await keeper.query('SELECT pg_terminate_backend(pid, 10000) FROM unnest($1::int[]) AS pid', [
        await this.waiting(agentId, gate),
      ]);
      await keeper.query(`SELECT pg_advisory_unlock(${kind}, hashtext($1))`, [agentId + gate]);
      keeper.release();
    }
  }

  private async waiting(agentId: string, gate: Gate): Promise<number[]> {
    const { rows } = await this.pool.query<{ pid: number }>(
      `SELECT pid FROM pg_locks
       WHERE locktype = 'advisory' AND NOT granted AND classid = ${kind}
         AND objid = (hashtext($1)::bigint & 4294967295)::oid
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      [agentId + gate],
    );
    return rows.map(({ pid }) => pid);
  }
}
