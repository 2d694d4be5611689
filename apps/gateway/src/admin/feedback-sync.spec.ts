import { newId } from '@muster/platform';
import { type Harness, startHarness, type Tenant } from '@muster/testing';
import { bug, sendReport } from '../feedback/feedback.harness';
import { gateway } from '../gateway.harness';

const path = '/api/admin/feedback/sync';

describe('feedback synchronization', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness({
      ...gateway,
      env: { FEEDBACK_CODEHOST_TOKEN: 'a token', FEEDBACK_CODEHOST_REPOSITORY: 'acme/portal' },
    });
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  const querySql = (text: string, values: unknown[] = []) => harness.db.query<any>('system', text, values);
  const readSyncStatus = async () => (await tenant.as.super_admin.get(path)).body;

  it('the feedback sync status shows which trackers are configured or stopped, and the pending items', async () => {
    expect((await tenant.as.admin.get(path)).status).toBe(403);
    expect(await readSyncStatus()).toEqual({
      enabled: false,
      codehost: { configured: true, stopped: null },
      tasktracker: { configured: false, stopped: null },
      pending: 0,
      dead: [],
      lastReconciledAt: null,
    });
    await sendReport(tenant.api, bug);
    await querySql(
      `INSERT INTO feedback_tracker (tracker, stopped_at, reason) VALUES ('codehost', now(), 'answered 401')`,
    );
    expect(await readSyncStatus()).toMatchObject({
      codehost: { stopped: { since: expect.stringMatching(/Z$/), reason: 'answered 401' } },
      pending: 1,
    });
    // Links to a tracker that is not configured are not pending.
    await querySql(`UPDATE feedback_link SET unlinked_at = now() WHERE tracker = 'codehost'`);
    expect((await readSyncStatus()).pending).toBe(0);
  });

  it('feedback whose issue could not be created after all attempts is listed, and a super admin can replay it', async () => {
    const { id: submissionId } = (await sendReport(tenant.api, bug)).body;
    await querySql('UPDATE feedback_work_item SET due_at = NULL WHERE submission_id = $1', [submissionId]);
    const [{ id }] = await querySql(
      `UPDATE feedback_link SET dead_at = now(), attempts = 20, error = 'answered 502'
       WHERE submission_id = $1 AND tracker = 'codehost' RETURNING id`,
      [submissionId],
    );
    const dead = { id, submissionId, tracker: 'codehost', attempts: 20, error: 'answered 502' };
    expect((await readSyncStatus()).dead).toEqual([{ ...dead, since: expect.stringMatching(/Z$/) }]);
    expect((await tenant.as.admin.post(`${path}/${id}/replay`)).status).toBe(403);
    expect((await tenant.as.super_admin.post(`${path}/${newId()}/replay`)).status).toBe(404);
    expect((await tenant.as.super_admin.post(`${path}/${id}/replay`)).status).toBe(202);
    expect((await readSyncStatus()).dead).toEqual([]);
    const [item] = await querySql('SELECT due_at FROM feedback_work_item WHERE submission_id = $1', [submissionId]);
    expect(item.dueAt).not.toBeNull();
    expect((await tenant.as.super_admin.post(`${path}/${id}/replay`)).status).toBe(404);
  });
});
