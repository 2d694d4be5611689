import { waitFor } from '@muster/testing';
import type { Pool, PoolClient } from 'pg';

/** Ours among the advisory locks. */
const kind = 4242;

/** Where a process can be held: before the statement that a trigger stands before. */
export type Places<Place extends string> = Record<Place, string>;

/**
 * Gates before single statements of single agents, in the database alone: who comes to a closed one waits in it, and
 * when he is killed there his statement is undone. So a process dies between two of its commits, and at no other time.
 */
export class StatementGates<Place extends string> {
  private readonly closed: { agentId: string; place: Place; keeper: PoolClient }[] = [];

  private constructor(private readonly pool: Pool) {}

  /** `keyOf` says whose gate it is, by `item`, the row, and `table_name`. */
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

  /** Lets go of everything; who waited and is dead by now has done nothing. */
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
