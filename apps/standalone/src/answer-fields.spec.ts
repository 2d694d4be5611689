import { openApiDocument } from '@muster/contracts';
import { type Harness, startHarness, type Tenant } from '@muster/testing';
import { Client } from 'pg';
import { foreignResources } from './foreign-resources.harness';
import { standalone } from './standalone';
import { fillPath, listOperations } from './walk-openapi';

interface Row {
  table: string;
  /** Path of the answer with the resource, if the path with its id has none. */
  list?: string;
  /** Fields that are not simply the column of the same name. */
  derived: string[];
}

const rows: Record<string, Row> = {
  '/api/users/{id}': { table: 'app_user', derived: [] },
  '/api/api-keys/{id}': { table: 'api_key', list: '/api/api-keys', derived: [] },
  '/api/webhook-endpoints/{id}': { table: 'webhook_endpoint', derived: [] },
  '/api/alerts/{id}': { table: 'alert', list: '/api/alerts', derived: [] },
  '/api/functions/{id}': { table: 'agent_function', list: '/api/functions', derived: [] },
  '/api/workflows/{id}': { table: 'workflow', derived: [] },
  '/api/batches/{id}': { table: 'batch', derived: [] },
  '/api/jobs/{id}': { table: 'job', derived: [] },
  '/api/questions/{id}': { table: 'question', derived: ['answeredBy'] },
  '/api/schedules/{id}': { table: 'schedule', derived: [] },
  '/api/recordings/{id}': { table: 'recording', derived: [] },
  '/api/workflow-packs/{id}': { table: 'workflow_pack', derived: [] },
  '/api/workflow-pack-installations/{id}': { table: 'pack_installation', derived: [] },
  '/api/artifacts/{id}': { table: 'artifact', list: '/api/artifacts', derived: [] },
  '/api/autopilot-sessions/{id}': { table: 'autopilot_session', derived: [] },
  '/api/agents/{id}': { table: 'agent', derived: [] },
};

const toColumn = (field: string) => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A field that has the value of another column is easily overlooked, because the two values are often equal. */
describe('the fields of an answer', () => {
  let harness: Harness;
  let tenant: Tenant;
  let owner: Client;

  beforeAll(async () => {
    harness = await startHarness(standalone);
    tenant = await harness.makeTenant();
    owner = new Client({ connectionString: harness.databaseUrl });
    await owner.connect();
  });
  afterAll(async () => {
    await owner.end();
    await harness.close();
  });

  /** Gives each column of the row that allows it a value that no other column has. */
  async function makeValuesDistinct(table: string, id: string): Promise<void> {
    const { rows: columns } = await owner.query<{ name: string; type: string }>(
      `SELECT column_name AS name, data_type AS type FROM information_schema.columns
       WHERE table_schema = 'public' AND table_name = $1 AND data_type IN ('timestamp with time zone', 'text', 'integer')
         AND column_name NOT IN ('id', 'organization_id') AND column_name NOT LIKE '%\\_id' AND column_name NOT LIKE 'expires%' AND NOT (table_name, column_name) IN (
           ('webhook_endpoint', 'name'), ('webhook_endpoint', 'kind'), ('workflow', 'archived_at'), ('workflow', 'revision'))`,
      [table],
    );
    for (const [at, { name, type }] of columns.entries()) {
      const value =
        type === 'text'
          ? `'${name} ${at}'`
          : type === 'integer'
            ? `${100 + at}`
            : `'2026-01-01'::timestamptz + ${at} * interval '1 hour'`;
      // A constraint may forbid the value. Then the column keeps its own.
      await owner.query(`UPDATE ${table} SET ${name} = ${value} WHERE id = $1`, [id]).catch(() => undefined);
    }
  }

  const hasAnswer = (path: string) =>
    listOperations(openApiDocument).some((operation) => operation.method === 'GET' && operation.path === path);

  it.each(Object.entries(rows))(
    'each field of %s has the value of its own column',
    async (path, { table, list, derived }) => {
      const id = await foreignResources[path]!(tenant, harness.db);
      await makeValuesDistinct(table, id);
      expect(hasAnswer(list ?? path)).toBe(true);
      const { status, body } = await tenant.as.admin.get(list ? `${list}?limit=200` : fillPath(path, id));
      expect([status, body]).toEqual([200, expect.anything()]);
      const resource = findObject(body, id);
      const { rows: stored } = await owner.query<Record<string, unknown>>(`SELECT * FROM ${table} WHERE id = $1`, [id]);
      const compared = Object.keys(resource).filter((field) => toColumn(field) in stored[0]!);
      expect(compared.length).toBeGreaterThan(2);
      const differing = compared.filter((field) => {
        const value = stored[0]![toColumn(field)];
        return JSON.stringify(resource[field]) !== JSON.stringify(value instanceof Date ? value.toISOString() : value);
      });
      expect(differing.sort()).toEqual([...derived].sort());
    },
  );
});

/** Returns the object in the answer whose id, or whose only id, is that of the resource. */
function findObject(value: unknown, id: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return {};
  const found = Object.values(value).includes(id) && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  return (
    found ??
    Object.values(value)
      .map((each) => findObject(each, id))
      .find((each) => Object.keys(each).length > 0) ??
    {}
  );
}
