import { Client } from 'pg';

interface Table {
  name: string;
  columns: string[];
  /** Condition of the organization's rows t; $1 is the organization. */
  condition: string;
}

/**
 * Copies all rows of an organization from one database to another, in one snapshot. Nothing else may write them
 * meanwhile. Returns the number of rows of each table that has some.
 */
export async function copyOrganization(
  organizationId: string,
  { from, to }: { from: string; to: string },
): Promise<Record<string, number>> {
  const [source, target] = [new Client({ connectionString: from }), new Client({ connectionString: to })];
  await Promise.all([source.connect(), target.connect()]);
  try {
    await source.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    // Neither foreign keys nor triggers run: the rows that the triggers wrote are copied too.
    await target.query(`BEGIN; SET LOCAL session_replication_role = 'replica'`);
    const counts: Record<string, number> = {};
    for (const { name, columns, condition } of await listTables(source)) {
      const list = columns.map((column) => `"${column}"`).join(', ');
      const { rows } = await source.query<{ rows: string; count: number }>(
        `SELECT COALESCE(json_agg(t), '[]')::text AS rows, count(*)::int AS count FROM ${name} t WHERE ${condition}`,
        [organizationId],
      );
      if (rows[0]!.count === 0) continue;
      counts[name] = rows[0]!.count;
      await target.query(
        `INSERT INTO ${name} (${list}) SELECT ${list} FROM json_populate_recordset(NULL::${name}, $1::json)`,
        [rows[0]!.rows],
      );
    }
    await target.query('COMMIT');
    return counts;
  } finally {
    await Promise.all([source.end(), target.end()]);
  }
}

/**
 * Lists the tables with rows of organizations: those with the column organization_id, those that refer to them without
 * having it, and the organizations. Numbers that the database assigns are not copied.
 */
async function listTables(client: Client): Promise<Table[]> {
  const { rows } = await client.query<Table>(`
    WITH tenant AS (
      SELECT c.oid, c.relname FROM pg_class c
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'organization_id' AND NOT a.attisdropped)),
    child AS (
      SELECT DISTINCT ON (k.conrelid) k.conrelid AS oid, t.relname, format('EXISTS (SELECT FROM %I u WHERE u.organization_id = $1 AND %s)',
        u.relname, (
          SELECT string_agg(format('t.%I = u.%I', own.attname, other.attname), ' AND ')
          FROM unnest(k.conkey, k.confkey) AS pair (own, other)
          JOIN pg_attribute own ON own.attrelid = k.conrelid AND own.attnum = pair.own
          JOIN pg_attribute other ON other.attrelid = k.confrelid AND other.attnum = pair.other)) AS condition
      FROM pg_constraint k JOIN tenant u ON u.oid = k.confrelid JOIN pg_class t ON t.oid = k.conrelid
      WHERE k.contype = 'f' AND k.conparentid = 0 AND k.conrelid NOT IN (SELECT oid FROM tenant)
      ORDER BY k.conrelid, k.conname),
    chosen AS (
      SELECT oid, relname, 't.organization_id = $1' AS condition FROM tenant
      UNION ALL SELECT oid, relname, condition FROM child
      UNION ALL SELECT 'organization'::regclass::oid, 'organization', 't.id = $1')
    SELECT relname AS name, condition, (
      SELECT json_agg(a.attname ORDER BY a.attnum) FROM pg_attribute a
      WHERE a.attrelid = chosen.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attidentity = '') AS columns
    FROM chosen ORDER BY relname`);
  return rows;
}
