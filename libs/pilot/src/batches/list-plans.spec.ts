import { createOwnerDataSource, DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { type Harness, makeOrganization, startHarness } from '@muster/testing';
import { buildListBatchesStatement } from './list-batches';
import { buildListSessionsStatement } from '../sessions/read-sessions';

const count = 20_000;

describe('the query plan of a page deep in a long list', () => {
  let harness: Harness;
  let organizationId: string;
  const workflowId = newId();

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    const organizations = [await makeOrganization(harness.db), await makeOrganization(harness.db)];
    organizationId = organizations[0]!.id;
    for (const { id } of organizations) {
      await harness.db.query(
        'system',
        `INSERT INTO pilot_batch (id, organization_id, batch_id, workflow_id, worker_key, occurred_at)
         SELECT gen_random_uuid(), $1, 'b' || n, CASE n % 10 WHEN 0 THEN $3::uuid END, 'w' || n % 10,
                timestamptz '2026-01-01' + n * interval '1 minute'
         FROM generate_series(1, $2::int) n`,
        [id, count, workflowId],
      );
      await harness.db.query(
        'system',
        `INSERT INTO process_library_session_summary (pilot_batch_id, organization_id, occurred_at, worker_key, headline)
         SELECT id, organization_id, occurred_at, worker_key, 'x' FROM pilot_batch WHERE organization_id = $1`,
        [id],
      );
    }
    const owner = await createOwnerDataSource(harness.databaseUrl).initialize();
    await owner.query('ANALYZE pilot_batch, process_library_session_summary, job');
    await owner.destroy();
  });
  afterAll(() => harness.close());

  const page = { limit: 200, after: ['2026-01-07T22:40:00.000Z', newId()] };
  const readPlan = async ({ text, values }: { text: string; values: unknown[] }) => {
    const rows = await harness.db.query<object>({ organizationId }, `EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
    return JSON.stringify(rows);
  };

  it.each([
    ['pilot_batch_occurred_idx', {}],
    ['pilot_batch_occurred_idx', { from: '2026-01-02', to: '2026-01-12' }],
    ['pilot_batch_workflow_idx', { workflowId }],
  ])('Postgres reads a page of pilot batches in the order of the index %s, without a sort', async (index, filter) => {
    const read = await readPlan(buildListBatchesStatement(organizationId, { page, filter }));
    expect(read).toContain(index);
    expect(read).not.toMatch(/"Node Type":"(Incremental )?Sort"/);
  });

  it.each([
    ['session_summary_occurred_idx', {}],
    ['session_summary_occurred_idx', { from: '2026-01-02T00:00:00.000Z' }],
    ['session_summary_worker_idx', { workerKey: 'w3' }],
  ])('Postgres reads a page of pilot sessions in the order of the index %s, without a sort', async (index, filter) => {
    const read = await readPlan(buildListSessionsStatement(organizationId, { page, filter }));
    expect(read).toContain(index);
    expect(read).not.toMatch(/"Node Type":"(Incremental )?Sort"/);
  });
});
