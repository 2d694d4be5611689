import { waitFor } from '@muster/testing';
import type { Pool, PoolClient } from 'pg';

/** First key of the advisory locks of the pause points. */
const kind = 4242;

/** For each pause point, the event of the SQL trigger that holds the statement, such as `BEFORE INSERT ON job`. */
export type PausePointTriggers<PausePoint extends string> = Record<PausePoint, string>;

/**
 * Makes a process wait before it executes a statement for one agent, with SQL triggers and advisory locks. If a test
 * kills the process there, Postgres rolls the statement back. So the process dies exactly between two of its commits.
 */
export class StatementPausePoints<PausePoint extends string> {
  private readonly paused: { agentId: string; pausePoint: PausePoint; keeper: PoolClient }[] = [];

  private constructor(private readonly pool: Pool) {}

  /** `keyOf` is an SQL expression over `item` (the row as JSON) and `table_name`; its value selects the pause point. */
  static async createTriggers<PausePoint extends string>(
    pool: Pool,
    triggers: PausePointTriggers<PausePoint>,
    keyOf = `item->>'agent_id'`,
  ): Promise<StatementPausePoints<PausePoint>> {
    await pool.query(`
      CREATE FUNCTION pause_point_key(item jsonb, table_name text) RETURNS text LANGUAGE sql AS $$ SELECT ${keyOf} $$;
      CREATE FUNCTION wait_at_pause_point() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock_shared(${kind}, hashtext(public.pause_point_key(to_jsonb(NEW), TG_TABLE_NAME) || TG_ARGV[0]));
          RETURN NEW;
        END $$`);
    for (const [index, [pausePoint, when]] of Object.entries<string>(triggers).entries()) {
      const rows = when.includes('FOR EACH ROW') ? when : `${when} FOR EACH ROW`;
      await pool.query(
        `CREATE TRIGGER pause_point_${index} ${rows} EXECUTE FUNCTION wait_at_pause_point('${pausePoint}')`,
      );
    }
    return new StatementPausePoints(pool);
  }

  /** Makes the next statements of the agent wait at the pause point. */
  async pauseAt(agentId: string, pausePoint: PausePoint): Promise<void> {
    const keeper = await this.pool.connect();
    await keeper.query(`SELECT pg_advisory_lock(${kind}, hashtext($1))`, [agentId + pausePoint]);
    this.paused.push({ agentId, pausePoint, keeper });
  }

  /** Resolves when a statement of the agent waits at the pause point. */
  async waitUntilReached(agentId: string, pausePoint: PausePoint): Promise<void> {
    await waitFor(
      `${agentId} at the pause point "${pausePoint}"`,
      async () => (await this.findWaitingBackends(agentId, pausePoint)).length > 0,
      60_000,
    );
  }

  /**
   * Terminates the connections that wait at a pause point, so that their statements have no effect. Then no statement
   * waits any more.
   */
  async releaseAll(): Promise<void> {
    for (const { agentId, pausePoint, keeper } of this.paused.splice(0)) {
      await keeper.query('SELECT pg_terminate_backend(pid, 10000) FROM unnest($1::int[]) AS pid', [
        await this.findWaitingBackends(agentId, pausePoint),
      ]);
      await keeper.query(`SELECT pg_advisory_unlock(${kind}, hashtext($1))`, [agentId + pausePoint]);
      keeper.release();
    }
  }

  private async findWaitingBackends(agentId: string, pausePoint: PausePoint): Promise<number[]> {
    const { rows } = await this.pool.query<{ pid: number }>(
      `SELECT pid FROM pg_locks
       WHERE locktype = 'advisory' AND NOT granted AND classid = ${kind}
         AND objid = (hashtext($1)::bigint & 4294967295)::oid
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      [agentId + pausePoint],
    );
    return rows.map(({ pid }) => pid);
  }
}
