import { randomUUID } from 'node:crypto';
import { cloneDatabase, type ClonedDatabase } from '@muster/testing';
import { Client } from 'pg';

/** Values of a column's type, for columns that need one. */
const values: Record<string, string> = {
  uuid: 'gen_random_uuid()',
  text: 'gen_random_uuid()::text',
  'text[]': `'{}'`,
  jsonb: `'{}'`,
  bytea: `''`,
  boolean: 'false',
  integer: '0',
  bigint: '0',
  numeric: '0',
  date: `'2026-01-01'`,
  'timestamp with time zone': 'muster_now()',
};

/** Values of columns that have a check constraint. */
const allowed: Record<string, string> = {
  'access_entry.actor_kind': `'user'`,
  'agent_idle.policy': `'fixed'`,
  'audit_entry.actor_kind': `'user'`,
  'claim_outcome.outcome': `'failed'`,
  'job_step.status': `'passed'`,
  'run_cost_component.kind': `'ai'`,
  'schedule_run.kind': `'tick'`,
  'schedule_run.outcome': `'launched'`,
  'usage_event.kind': `'run'`,
};

interface Table {
  name: string;
  columns: { name: string; type: string }[];
}

describe('a deleted organization', () => {
  let database: ClonedDatabase;
  let client: Client;

  beforeAll(async () => {
    database = await cloneDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await database.drop();
  });

  /** Lists the tables without a foreign key to the organization, with the columns that an INSERT must set. */
  async function listUnboundTables(): Promise<Table[]> {
    const { rows } = await client.query<Table>(`
      SELECT c.relname AS name, (
        SELECT json_agg(json_build_object('name', n.attname, 'type', format_type(n.atttypid, NULL))) FROM pg_attribute n
        WHERE n.attrelid = c.oid AND n.attnum > 0 AND n.attnotnull AND NOT n.atthasdef AND n.attidentity = ''
          AND NOT n.attisdropped AND n.attname <> 'organization_id') AS columns
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization_id'
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND NOT EXISTS (SELECT FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f'
                        AND f.conkey = ARRAY[a.attnum] AND f.confrelid = 'organization'::regclass)`);
    return rows;
  }

  async function insertRow({ name, columns }: Table, organizationId: string): Promise<void> {
    const names = columns.map((column) => column.name);
    const sql = columns.map((column) => {
      const value = allowed[`${name}.${column.name}`] ?? values[column.type];
      if (!value) throw new Error(`This test knows no value for ${name}.${column.name} of type ${column.type}.`);
      return value;
    });
    await client.query(
      `INSERT INTO ${name} (${['organization_id', ...names].join()}) VALUES (${['$1', ...sql].join()})`,
      [organizationId],
    );
  }

  async function countRows(tables: Table[], organizationId: string): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { name } of tables) {
      const { rows } = await client.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM ${name} WHERE organization_id = $1`,
        [organizationId],
      );
      counts[name] = rows[0]!.count;
    }
    return counts;
  }

  it('deleting an organization deletes its rows in tables without a foreign key to it, and keeps the rows of other organizations', async () => {
    const [deleted, other] = [randomUUID(), randomUUID()];
    await client.query(`INSERT INTO organization (id, name) VALUES ($1, 'Deleted'), ($2, 'Other')`, [deleted, other]);
    const tables = await listUnboundTables();
    expect(tables.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['job', 'audit_entry', 'access_entry', 'timeline_entry', 'webhook_delivery', 'outbox']),
    );
    // The rows reference no agents and jobs, so that only the trigger can delete them.
    await client.query('SET session_replication_role = replica');
    for (const table of tables) for (const id of [deleted, other]) await insertRow(table, id);
    await client.query('RESET session_replication_role');
    const one = await countRows(tables, other);
    expect(new Set(Object.values(one))).toEqual(new Set([1]));
    // The role of the service may delete organizations, but no rows of the audit trail.
    await client.query('SET ROLE muster_system');
    await client.query('DELETE FROM organization WHERE id = $1', [deleted]);
    await client.query('RESET ROLE');
    expect(await countRows(tables, deleted)).toEqual(Object.fromEntries(tables.map(({ name }) => [name, 0])));
    expect(await countRows(tables, other)).toEqual(one);
  });

  it('a statement of a tenant does not delete the tenant’s organization', async () => {
    const id = randomUUID();
    await client.query(`INSERT INTO organization (id, name) VALUES ($1, 'Kept')`, [id]);
    await client.query('SET ROLE muster_app');
    await client.query(`SELECT set_config('muster.organization_id', $1, false)`, [id]);
    await expect(client.query('DELETE FROM organization WHERE id = $1', [id])).rejects.toThrow(/permission denied/);
    await client.query('RESET ROLE');
  });
});
