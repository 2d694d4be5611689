import { purgeAssistantData } from '@muster/assistant';
import { purgeOldImages } from '@muster/commands';
import { DatabaseModule } from '@muster/database';
import { purgeStepsAndClaims } from '@muster/jobs';
import { purgeBatchClaims } from '@muster/pilot';
import { newId, Round } from '@muster/platform';
import { purgeUsage } from '@muster/pricing';
import { ObjectStorage, StorageConfig, StorageModule } from '@muster/storage';
import { type Harness, seedLargeOrganization, startHarness } from '@muster/testing';
import { purgeTimeline } from '@muster/timeline';
import { Client } from 'pg';

/** Rows of an organization that a deletion by retention must delete, besides those of the seeded year. */
const more = [
  `INSERT INTO model_call (id, organization_id, purpose, provider, model, outcome, at)
   VALUES ({id}, {organization}, 'chat', 'openai', 'gpt', 'answered', now() - interval '300 days')`,
  `INSERT INTO limit_notice (organization_id, month, limit_name, level, max)
   SELECT {organization}, min(month), 'monthlyRunLimit', 'near', 10 FROM usage_counter
   WHERE organization_id = {organization}`,
  // Notices of the current month are kept.
  `INSERT INTO limit_notice (organization_id, month, limit_name, level, max)
   VALUES ({organization}, date_trunc('month', now() AT TIME ZONE 'UTC')::date, 'monthlyRunLimit', 'near', 10)
   ON CONFLICT DO NOTHING`,
  `INSERT INTO chat_session (id, organization_id, agent_id, owner_kind, owner_id, title, created_at, updated_at)
   SELECT {id}, {organization}, id, 'user', 'somebody', 'Chat', now() - interval '300 days', now() - interval '300 days'
   FROM agent WHERE organization_id = {organization} LIMIT 1`,
  `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key, created_at)
   SELECT {id}, {organization}, id, 'image', 'session-1.jpg', 'image/jpeg', 1, 'sessions/' || {organization},
          now() - interval '300 days'
   FROM agent WHERE organization_id = {organization} LIMIT 1`,
  `INSERT INTO artifact (id, organization_id, agent_id, kind, filename, content_type, size, storage_key, created_at)
   SELECT {id}, {organization}, id, 'image', 'full.jpg', 'image/jpeg', 1, 'imaging/' || {organization},
          now() - interval '300 days'
   FROM agent WHERE organization_id = {organization} LIMIT 1`,
];

const shrinking = [
  ...['timeline_entry', 'job_step', 'usage_event', 'usage_counter', 'run_cost_component', 'autopilot_session'],
  ...['model_call', 'limit_notice', 'chat_session', 'artifact'],
];

describe('two organizations with the same data', () => {
  let harness: Harness;
  let owner: Client;

  beforeAll(async () => {
    const modules = [DatabaseModule, StorageModule];
    harness = await startHarness({ name: 'gateway', configs: [StorageConfig], modules });
    owner = new Client({ connectionString: harness.databaseUrl });
    await owner.connect();
  });
  afterAll(async () => {
    await owner.end();
    await harness.close();
  });

  async function seed(): Promise<string> {
    const { organizationId } = await seedLargeOrganization(owner, { jobs: 60, agents: 5, entries: 200 });
    for (const statement of more)
      await owner.query(
        statement.replaceAll('{organization}', `'${organizationId}'`).replaceAll('{id}', `'${newId()}'`),
      );
    return organizationId;
  }

  /** Returns a hash of the organization's rows in each table, and their number. */
  async function readTables(organizationId: string): Promise<Map<string, [hash: string, count: number]>> {
    const { rows: tables } = await owner.query<{ name: string }>(
      `SELECT table_name AS name FROM information_schema.columns JOIN information_schema.tables USING (table_name)
       WHERE column_name = 'organization_id' AND table_type = 'BASE TABLE' AND tables.table_schema = 'public'`,
    );
    const found = new Map<string, [string, number]>();
    for (const { name } of tables) {
      const { rows } = await owner.query<{ hash: string; count: number }>(
        `SELECT md5(COALESCE(string_agg(t::text, ',' ORDER BY t::text), '')) AS hash, count(*)::int AS count
         FROM ${name} t WHERE organization_id = $1`,
        [organizationId],
      );
      found.set(name, [rows[0]!.hash, rows[0]!.count]);
    }
    return found;
  }

  it('the retention of one organization deletes its old rows and changes no row of the other one', async () => {
    const [own, other] = [await seed(), await seed()];
    const names = ['log', 'timeline', 'step', 'claim', 'usage', 'cost'].map((name) => `${name}_retention_days`);
    for (const [organizationId, days] of [
      [own, '30'],
      [other, 'NULL'],
    ] as const) {
      const settings = names.map((name) => `${name} = ${days}`).join(', ');
      await owner.query(`UPDATE organization_settings SET ${settings} WHERE organization_id = $1`, [organizationId]);
    }
    const [before, ownBefore] = [await readTables(other), await readTables(own)];
    const [database, storage, now] = [harness.db, harness.app.nest.get(ObjectStorage), new Date()];
    const round = () => new Round('test');
    await purgeTimeline(database, round(), now);
    await purgeStepsAndClaims(database, round(), now);
    await purgeBatchClaims(database, round(), now);
    await purgeUsage(database, round(), now);
    await purgeOldImages({ database, storage }, round(), now);
    await purgeAssistantData({ database, storage }, round(), now);
    expect(Object.fromEntries(await readTables(other))).toEqual(Object.fromEntries(before));
    const ownAfter = await readTables(own);
    const unchanged = shrinking.filter((name) => ownAfter.get(name)![1] >= ownBefore.get(name)![1]);
    expect(unchanged).toEqual([]);
    expect(ownAfter.get('limit_notice')![1]).toBe(1);
    expect(shrinking.filter((name) => before.get(name)![1] === 0)).toEqual([]);
  });
});
