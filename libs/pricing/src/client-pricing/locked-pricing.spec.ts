import type { Principal } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { runBehindLock, type Harness, makeJob, makeOrganization, startHarness } from '@muster/testing';
import { backfillMetrics } from './backfill-metrics';
import { putPricingModel } from './pricing-models';

describe('client pricing', () => {
  let harness: Harness;
  const caller = { kind: 'user', id: newId(), email: 'admin@practice.example', role: 'super_admin' } as Principal;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('a billing backfill finds no job if the job is deleted while the backfill waits for the job’s lock', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const { id: jobId } = await makeJob(harness.db, { organizationId, status: 'completed' });
    await harness.db.query(
      'system',
      `INSERT INTO job_step (job_id, step_order, organization_id, status, state_key, metadata)
       VALUES ($1, 1, $2, 'passed', 1, '{"claimId":"1","npi":"A"}')`,
      [jobId, organizationId],
    );
    const request = { jobId, createDefaultModel: true, force: false };
    const charged = runBehindLock(
      harness.db,
      (tx) => tx.query('DELETE FROM job WHERE id = $1', [jobId]),
      () => [harness.db.transaction('system', (tx) => backfillMetrics(tx, { ...caller, organizationId }, request))],
    );
    await expect(charged).rejects.toMatchObject({ code: 'job_not_found' });
  });

  it('a pricing model is not set for an organization that is deleted while the request waits', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const model = { pricingType: 'per_claim', blockSize: null, priceMicros: 1_000_000, minimumMicros: 0 } as const;
    const set = runBehindLock(
      harness.db,
      (tx) => tx.query('DELETE FROM organization WHERE id = $1', [organizationId]),
      () => [
        harness.db.transaction('system', (tx) =>
          putPricingModel(tx, { ...caller, organizationId }, organizationId, model as never),
        ),
      ],
    );
    await expect(set).rejects.toMatchObject({ code: 'not_found' });
  });
});
