import { runBehindLock } from '@muster/testing';
import { launchBatch } from '../batches/launch-batch';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';

/** A launch that waits for another one must count the runs which that one has launched. */
describe('a launch that waits for another launch of its organization', () => {
  let fixture: JobsFixture;

  beforeAll(async () => {
    fixture = await openJobsFixture();
    await fixture.query('UPDATE organization_settings SET monthly_run_limit = 1000');
  });
  afterAll(() => fixture.close());

  const batch = () =>
    fixture.harness.db.transaction({ organizationId: fixture.organizationId }, (tx) =>
      launchBatch(tx, fixture.caller, {
        input: { workflowId: fixture.workflowId, agentIds: [fixture.agentId] },
        rows: [1, 2].map((row) => ({ row, cells: new Map(), errors: [] })),
        now: new Date(),
      }),
    );

  it.each([
    ['a batch', 'pg_advisory_xact_lock_shared', batch],
    ['a run', 'pg_advisory_xact_lock', () => fixture.launch()],
  ])('%s is refused if the month’s limit is reached while it waits', async (_, lock, launch) => {
    const { organizationId, harness } = fixture;
    const launched = runBehindLock<unknown>(
      harness.db,
      (tx) => tx.query(`SELECT ${lock}(hashtextextended($1, 1))`, [`launches ${organizationId}`]),
      () => [launch()],
      (tx) =>
        tx.execute(
          `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, status)
           SELECT gen_random_uuid(), $1, $2, 1, $3, 'queued' FROM generate_series(1, 1000)`,
          [organizationId, fixture.workflowId, fixture.agentId],
        ),
    );
    await expect(launched).rejects.toMatchObject({ code: 'billing_gate_closed' });
    await fixture.query('DELETE FROM job');
  });
});
