import {
  scheduleUnsentSubmissions,
  startReconciliation,
  readLastReconciliation,
  purgeDeliveries,
  reconcileFeedback,
} from '@muster/feedback';
import { newId, Round } from '@muster/platform';
import { FakeClock, FakeTrackers, waitFor } from '@muster/testing';
import { startFeedbackSync } from './feedback-sync.harness';

type Started = Awaited<ReturnType<typeof startFeedbackSync>>;

describe('the nightly reconciliation', () => {
  let off: Started;
  beforeAll(async () => {
    off = await startFeedbackSync({ env: { FEEDBACK_AUTOMATION_ENABLED: 'false' } });
  });
  afterAll(() => off.harness.close());
  beforeEach(async () => {
    await off.sql('DELETE FROM feedback_reconciliation');
    await off.sql('DELETE FROM feedback_submission');
  });

  const nominalAt = new Date('2026-03-02T03:17:00.000Z');
  const createExpiredRound = () => new Round('test', { budgetMs: -1 });
  const createRound = () => new Round('test');
  const insertLinkedSubmissions = (count: number, more = '') =>
    off.sql(
      `WITH submissions AS (
         INSERT INTO feedback_submission (id, organization_id, type, title, description, reporter_id, status, updated_at)
         SELECT gen_random_uuid(), $1, 'bug_report', 't', 'd', 'key', 'triaged', now() FROM generate_series(1, $2)
         RETURNING id),
       items AS (
         INSERT INTO feedback_work_item (submission_id, organization_id, due_at) SELECT id, $1, NULL FROM submissions)
       INSERT INTO feedback_link (id, submission_id, organization_id, tracker, scope, external_id${more && ', unlinked_at'})
       SELECT gen_random_uuid(), id, $1, 'codehost', 'acme/portal', id${more} FROM submissions RETURNING submission_id`,
      [off.organizationId, count],
    );
  const readReconciliation = async () => (await off.sql('SELECT * FROM feedback_reconciliation'))[0];
  const readSyncRequestCounts = async () =>
    (await off.sql('SELECT armed FROM feedback_work_item')).map(({ armed }) => armed as number);

  it('an interrupted reconciliation of feedback resumes at its cursor, and requests each sync once', async () => {
    const { db } = off.harness;
    await insertLinkedSubmissions(1203);
    const now = new Date();
    await startReconciliation(db, { nominalAt, now });
    expect(await reconcileFeedback(db, createExpiredRound())).toEqual({ armed: 500, finished: 0 });
    // Two other processes resume concurrently after the first one ended.
    await startReconciliation(db, { nominalAt: new Date(nominalAt.getTime() + 86_400_000), now });
    expect(await readLastReconciliation(db)).toEqual({ nominalAt, rungAt: null });
    expect((await readReconciliation()).afterId).not.toBeNull();
    await Promise.all([reconcileFeedback(db, createRound()), reconcileFeedback(db, createRound())]);
    await reconcileFeedback(db, createRound());
    expect(await readReconciliation()).toMatchObject({
      nominalAt,
      rungAt: expect.any(Date),
      armed: 1203,
      finishedAt: null,
    });
    expect(new Set(await readSyncRequestCounts())).toEqual(new Set([2]));
  });

  it('a reconciliation of feedback is finished when all items are synced, not when their syncs are requested', async () => {
    const { db } = off.harness;
    const [{ submissionId }] = await insertLinkedSubmissions(1);
    await startReconciliation(db, { nominalAt, now: new Date() });
    expect(await reconcileFeedback(db, createRound())).toEqual({ armed: 1, finished: 0 });
    expect((await readReconciliation()).finishedAt).toBeNull();
    await off.sql('UPDATE feedback_work_item SET to_compare = false WHERE submission_id = $1', [submissionId]);
    expect(await reconcileFeedback(db, createRound())).toEqual({ armed: 0, finished: 1 });
    expect(await readReconciliation()).toMatchObject({ armed: 1, finishedAt: expect.any(Date) });
  });

  it('a reconciliation of feedback skips unlinked items and submissions that were finished over 90 days ago', async () => {
    await insertLinkedSubmissions(1, ', now()');
    await insertLinkedSubmissions(1);
    await off.sql(`UPDATE feedback_submission SET status = 'resolved', updated_at = now() - interval '91 days'`);
    await insertLinkedSubmissions(1);
    await off.sql(`UPDATE feedback_submission SET status = 'resolved' WHERE status = 'triaged'`);
    await startReconciliation(off.harness.db, { nominalAt, now: new Date() });
    expect((await reconcileFeedback(off.harness.db, createRound())).armed).toBe(1);
  });

  it('the nightly reconciliation resumes in a new process and finds changes that no webhook reported', async () => {
    const trackers = await FakeTrackers.start();
    const clock = new FakeClock('2026-03-02T03:00:00.000Z');
    const on = await startFeedbackSync({ env: trackers.environment, clock });
    try {
      const ids: string[] = [];
      for (let n = 0; n < 5; n += 1) ids.push(await on.submitFeedback());
      for (const id of ids) await on.waitUntilSynced(id);
      for (const id of ids) {
        trackers.changeIssue(trackers.listIssuesOf(id)[0]!, { state: 'closed', state_reason: 'completed' });
      }
      // The state that a process leaves if it dies after the second item.
      const cut = [...ids].sort()[1];
      const calls = trackers.calls.length;
      await on.sql(`INSERT INTO feedback_reconciliation (nominal_at, began_at, after_id) VALUES ($1, now(), $2)`, [
        new Date('2026-03-01T03:17:00.000Z'),
        cut,
      ]);
      const findFinishedReconciliations = () =>
        on.sql('SELECT FROM feedback_reconciliation WHERE finished_at IS NOT NULL');
      await waitFor(
        'the end of the interrupted reconciliation',
        async () => (await findFinishedReconciliations()).length === 1,
      );
      const readSubmissionStatuses = async () => Promise.all([...ids].sort().map((id) => on.statusOf(id)));
      expect(await readSubmissionStatuses()).toEqual(['triaged', 'triaged', 'resolved', 'resolved', 'resolved']);
      expect(trackers.calls.length - calls).toBeLessThanOrEqual(3 * 8);
      clock.set('2026-03-02T03:17:01.000Z');
      await waitFor('the reconciliation of this night', async () => (await findFinishedReconciliations()).length === 2);
      expect(new Set(await readSubmissionStatuses())).toEqual(new Set(['resolved']));
      expect(trackers.calls.length - calls).toBeLessThanOrEqual(5 * 12);
      expect(trackers.faults).toEqual([]);
    } finally {
      await on.harness.close();
      await trackers.close();
    }
  });
});

describe('waiting feedback', () => {
  let off: Started;
  beforeAll(async () => {
    off = await startFeedbackSync({ env: { FEEDBACK_AUTOMATION_ENABLED: 'false' } });
  });
  afterAll(() => off.harness.close());

  it('feedback becomes due when a tracker is configured that has no item for the feedback yet', async () => {
    const id = await off.submitFeedback();
    const isDue = async () =>
      (await off.sql('SELECT due_at FROM feedback_work_item WHERE submission_id = $1', [id]))[0].dueAt !== null;
    const clearDue = () => off.sql('UPDATE feedback_work_item SET due_at = NULL WHERE submission_id = $1', [id]);
    const updateCodehostLink = (set: string) =>
      off.sql(`UPDATE feedback_link SET ${set} WHERE submission_id = $1 AND tracker = 'codehost'`, [id]);
    await clearDue();
    await scheduleUnsentSubmissions(off.harness.db, []);
    expect(await isDue()).toBe(false);
    await scheduleUnsentSubmissions(off.harness.db, ['codehost']);
    expect(await isDue()).toBe(true);
    for (const [set, undo] of [
      [`external_id = '1'`, 'external_id = NULL'],
      ['dead_at = now()', 'dead_at = NULL'],
      ['unlinked_at = now()', 'unlinked_at = NULL'],
    ]) {
      await clearDue();
      await updateCodehostLink(set!);
      await scheduleUnsentSubmissions(off.harness.db, ['codehost']);
      expect([set, await isDue()]).toEqual([set, false]);
      await updateCodehostLink(undo!);
    }
    await scheduleUnsentSubmissions(off.harness.db, ['tasktracker']);
    expect(await isDue()).toBe(true);
  });

  it('the ids of received tracker webhooks are deleted after 30 days, but not before', async () => {
    const [young, old] = [newId(), newId()];
    for (const [id, days] of [
      [young, 29],
      [old, 31],
    ]) {
      await off.sql(`INSERT INTO feedback_delivery VALUES ('codehost', $1, now() - $2 * interval '1 day')`, [id, days]);
    }
    await purgeDeliveries(off.harness.db);
    expect(await off.sql('SELECT delivery_id FROM feedback_delivery')).toEqual([{ deliveryId: young }]);
  });
});
