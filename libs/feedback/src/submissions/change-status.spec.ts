import type { Principal } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { runBehindLock, type Harness, makeOrganization, startHarness } from '@muster/testing';
import { changeStatus } from './change-status';

describe('changeStatus', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('a feedback status that a person sets is recorded as later than a tracker’s change that is committed before it', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const id = newId();
    await harness.db.query(
      'system',
      `INSERT INTO feedback_submission (id, organization_id, type, status, status_at, title, description, reporter_id)
       VALUES ($1, $2, 'bug_report', 'triaged', '2026-03-02T09:00:00Z', 'Empty list', 'Nothing is shown.', 'somebody')`,
      [id, organizationId],
    );
    const caller = { kind: 'api_key', id: 'testkey01', organizationId } as Principal;
    const now = new Date('2026-03-02T10:00:00Z');
    await runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT FROM feedback_submission WHERE id = $1 FOR UPDATE', [id]),
      () => [
        harness.db.transaction({ organizationId }, (tx) => changeStatus(tx, caller, { id, status: 'resolved', now })),
      ],
      (tx) =>
        tx.execute(
          `UPDATE feedback_submission SET status = 'in_progress', status_at = '2026-03-02T11:00:00Z' WHERE id = $1`,
          [id],
        ),
    );
    const history = await harness.db.query(
      'system',
      'SELECT from_status, to_status, at FROM feedback_status_change WHERE submission_id = $1',
      [id],
    );
    expect(history).toEqual([
      { fromStatus: 'in_progress', toStatus: 'resolved', at: new Date('2026-03-02T11:00:00.001Z') },
    ]);
  });
});
