import { DatabaseModule } from '@muster/database';
import { BaseConfig, newId } from '@muster/platform';
import { behindLock, type Harness, makeOrganization, startHarness } from '@muster/testing';
import { takeStatus } from './keep-status';

describe('a status that a tracker shows', () => {
  let harness: Harness;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
  });
  afterAll(() => harness.close());

  it('does not replace a later change that a person makes while it is being read', async () => {
    const { id: organizationId } = await makeOrganization(harness.db);
    const [id, linkId] = [newId(), newId()];
    const sql = (text: string, values: unknown[]) => harness.db.query<{ status: string }>('system', text, values);
    await sql(
      `INSERT INTO feedback_submission (id, organization_id, type, status, status_at, title, description, reporter_id)
       VALUES ($1, $2, 'bug_report', 'triaged', '2026-03-02T09:00:00Z', 'Empty list', 'Nothing is shown.', 'somebody')`,
      [id, organizationId],
    );
    await sql('INSERT INTO feedback_work_item (submission_id, organization_id) VALUES ($1, $2)', [id, organizationId]);
    await sql(
      `INSERT INTO feedback_link (id, submission_id, organization_id, tracker, seen_status)
       VALUES ($1, $2, $3, 'codehost', 'triaged')`,
      [linkId, id, organizationId],
    );
    const shown = {
      tracker: { clockStepMs: 1 },
      link: { id: linkId, tracker: 'codehost', seenStatus: 'triaged', writingStatus: null, carriedStatus: null },
      item: { status: 'in_progress', changedAt: new Date('2026-03-02T10:00:00Z') },
    };
    const answers = await behindLock(
      harness.db,
      (tx) => tx.query('SELECT id FROM feedback_submission WHERE id = $1 FOR UPDATE', [id]),
      () => [takeStatus(harness.db, { id, organizationId } as never, [shown as never])],
      (tx) =>
        tx.execute(
          "UPDATE feedback_submission SET status = 'resolved', status_at = '2026-03-02T11:00:00Z' WHERE id = $1",
          [id],
        ),
    );
    expect(answers).toEqual(['resolved']);
    expect(await sql('SELECT status FROM feedback_submission WHERE id = $1', [id])).toEqual([{ status: 'resolved' }]);
    expect(await sql('SELECT to_status FROM feedback_status_change WHERE submission_id = $1', [id])).toEqual([]);
  });
});
