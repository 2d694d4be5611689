import { waitFor } from '@muster/testing';
import type { Pool, PoolClient } from 'pg';

/** Where a process can be held, as the statement that it has sent and Postgres has not carried out. */
const places = {
  'wake begun': 'BEFORE INSERT ON agent_wake',
  'wake taken in hand': 'BEFORE UPDATE ON agent_wake FOR EACH ROW WHEN (NEW.attempt > OLD.attempt)',
  'start noted':
    'BEFORE UPDATE ON agent_wake FOR EACH ROW WHEN (NEW.next_try_at = NEW.deadline AND OLD.next_try_at < OLD.deadline)',
  'job given': 'BEFORE INSERT ON agent_command',
  'idle stop begun': `BEFORE UPDATE ON agent FOR EACH ROW WHEN (NEW.status = 'stopping' AND OLD.status <> 'stopping')`,
  'order taken in hand': 'BEFORE INSERT ON agent_control',
  'order noted':
    'BEFORE UPDATE ON agent_control FOR EACH ROW WHEN (NEW.issued_at IS NOT NULL AND OLD.issued_at IS NULL)',
  'stop settled': `BEFORE UPDATE ON agent FOR EACH ROW WHEN (NEW.status = 'stopped' AND OLD.status = 'stopping')`,
  'end settled': `BEFORE UPDATE ON agent FOR EACH ROW WHEN (NEW.vm_state = 'gone' AND OLD.vm_state IS DISTINCT FROM 'gone')`,
};
export type Place = keyof typeof places;

/** Ours among the advisory locks. */
const kind = 4242;

/**
 * Gates before single statements of single agents, in the database alone: who comes to a closed one waits in it, and
 * when he is killed there his statement is undone. So a process dies between two of its commits, and at no other time.
 */
export class StatementGates {
  private readonly closed: { agentId: string; place: Place; keeper: PoolClient }[] = [];

  private constructor(private readonly pool: Pool) {}

  static async build(pool: Pool): Promise<StatementGates> {
    await pool.query(`
      CREATE FUNCTION pass_gate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock_shared(${kind},
            hashtext(CASE TG_TABLE_NAME WHEN 'agent' THEN to_jsonb(NEW)->>'id' ELSE to_jsonb(NEW)->>'agent_id' END
                     || TG_ARGV[0]));
          RETURN NEW;
        END $$`);
    for (const [index, [place, when]] of Object.entries(places).entries()) {
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
