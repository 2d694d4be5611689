import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { type Harness, makeOrganization, startHarness } from '@muster/testing';
import { settleRollups } from './settle-rollups';

describe('settleRollups', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('ignores batches of another organization that name the same job', async () => {
    const [tenant, otherTenant] = [await makeOrganization(harness.db), await makeOrganization(harness.db)];
    const namedJobId = newId();
    const insertBatch = (organizationId: string, occurredAt: string) =>
      harness.db.query(
        'system',
        `WITH batch AS (
           INSERT INTO pilot_batch (id, organization_id, batch_id, named_job_id, worker_key, occurred_at)
           VALUES ($1, $2, 'b', $3, 'w', $4) RETURNING id)
         INSERT INTO pilot_roi_metric (pilot_batch_id, organization_id, processing_micros) SELECT id, $2, '{}' FROM batch`,
        [newId(), organizationId, namedJobId, occurredAt],
      );
    await insertBatch(otherTenant.id, '2026-03-10T12:00:00Z');
    await insertBatch(tenant.id, '2026-03-11T12:00:00Z');
    await settleRollups(harness.db, tenant.id);
    const costs = await harness.db.query(
      'system',
      'SELECT day::text AS day, day_before::text AS day_before FROM pilot_roi_cost WHERE organization_id = $1',
      [tenant.id],
    );
    expect(costs).toEqual([{ day: '2026-03-11', dayBefore: '-infinity' }]);
  });
});
