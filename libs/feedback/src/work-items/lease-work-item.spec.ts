import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { type Harness, makeOrganization, startHarness } from '@muster/testing';
import { leaseWorkItem } from './lease-work-item';

describe('the lease of a work item', () => {
  let harness: Harness;
  let organizationId: string;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    ({ id: organizationId } = await makeOrganization(harness.db));
  });
  afterAll(() => harness.close());

  async function insertWorkItem(dueAt: string): Promise<string> {
    const id = newId();
    await harness.db.query(
      'system',
      `INSERT INTO feedback_submission (id, organization_id, type, title, description, reporter_id)
       VALUES ($1, $2, 'bug_report', 'Empty list', 'Nothing is shown.', 'somebody')`,
      [id, organizationId],
    );
    await harness.db.query(
      'system',
      `INSERT INTO feedback_work_item (submission_id, organization_id, due_at)
       VALUES ($1, $2, muster_now() + $3::interval)`,
      [id, organizationId, dueAt],
    );
    return id;
  }

  it('one process leases a due work item, until its lease has expired', async () => {
    const id = await insertWorkItem('-1 second');
    const first = await leaseWorkItem(harness.db, id, 60_000);
    expect(first).toMatchObject({ id, lease: expect.any(String) });
    expect(await leaseWorkItem(harness.db, id, 60_000)).toBeNull();
    await harness.db.query(
      'system',
      `UPDATE feedback_work_item SET leased_until = muster_now() - interval '1 millisecond' WHERE submission_id = $1`,
      [id],
    );
    const second = await leaseWorkItem(harness.db, id, 60_000);
    expect(second!.lease).not.toBe(first!.lease);
  });

  it('a work item that is not due is not leased', async () => {
    expect(await leaseWorkItem(harness.db, await insertWorkItem('1 minute'), 60_000)).toBeNull();
  });
});
