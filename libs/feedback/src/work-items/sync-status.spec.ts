import { type Database, DatabaseModule, type Transaction } from '@muster/database';
import { BaseConfig, newId, Round } from '@muster/platform';
import { runBehindLock, runBesideLock, type Harness, makeOrganization, startHarness } from '@muster/testing';
import { applyTrackerStatus } from './sync-status';
import { recordBranchRefusal } from './link-failures';
import { reconcileFeedback } from './reconcile';

/** Inserts a submission that is `triaged` since 09:00, with a link to an issue that was last observed as `triaged`. */
async function insertLinkedSubmission(db: Database, organizationId: string) {
  const [id, linkId] = [newId(), newId()];
  const insertRow = (text: string, values: unknown[]) => db.query('system', text, values);
  await insertRow(
    `INSERT INTO feedback_submission (id, organization_id, type, status, status_at, title, description, reporter_id)
     VALUES ($1, $2, 'bug_report', 'triaged', '2026-03-02T09:00:00Z', 'Empty list', 'Nothing is shown.', 'somebody')`,
    [id, organizationId],
  );
  await insertRow('INSERT INTO feedback_work_item (submission_id, organization_id) VALUES ($1, $2)', [
    id,
    organizationId,
  ]);
  await insertRow(
    `INSERT INTO feedback_link (id, submission_id, organization_id, tracker, seen_status)
     VALUES ($1, $2, $3, 'codehost', 'triaged')`,
    [linkId, id, organizationId],
  );
  return { id, linkId };
}

describe('a submission that a person resolves while its tracker is being read', () => {
  let harness: Harness;
  let organizationId: string;
  let id: string;
  let linkId: string;

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    ({ id: organizationId } = await makeOrganization(harness.db));
  });
  afterAll(() => harness.close());
  beforeEach(async () => void ({ id, linkId } = await insertLinkedSubmission(harness.db, organizationId)));

  const whileResolved = <T>(work: () => Promise<T>) =>
    runBehindLock(
      harness.db,
      (tx) => tx.query('SELECT id FROM feedback_submission WHERE id = $1 FOR UPDATE', [id]),
      () => [work()],
      (tx: Transaction) =>
        tx.execute(
          "UPDATE feedback_submission SET status = 'resolved', status_at = '2026-03-02T11:00:00Z' WHERE id = $1",
          [id],
        ),
    );
  const readStatusHistory = () =>
    harness.db.query<{ fromStatus: string; toStatus: string }>(
      'system',
      'SELECT from_status, to_status FROM feedback_status_change WHERE submission_id = $1',
      [id],
    );

  it('feedback that a person resolves during a sync stays resolved if the tracker’s change was earlier', async () => {
    const observed = {
      tracker: { clockStepMs: 1 },
      link: { id: linkId, tracker: 'codehost', seenStatus: 'triaged', writingStatus: null, carriedStatus: null },
      item: { status: 'in_progress', changedAt: new Date('2026-03-02T10:00:00Z') },
    };
    const applyObservedStatus = () =>
      applyTrackerStatus(harness.db, { id, organizationId } as never, [observed as never]);
    expect(await whileResolved(applyObservedStatus)).toEqual(['resolved']);
    expect(await harness.db.query('system', 'SELECT status FROM feedback_submission WHERE id = $1', [id])).toEqual([
      { status: 'resolved' },
    ]);
    expect(await readStatusHistory()).toEqual([]);
  });

  it('the history entry of a refused branch shows the status that a person set during the sync', async () => {
    const link = { id: linkId, tracker: 'codehost' } as never;
    await whileResolved(() => recordBranchRefusal(harness.db, { id, organizationId } as never, link, 'no branch'));
    expect(await readStatusHistory()).toEqual([{ fromStatus: 'resolved', toStatus: 'resolved' }]);
  });

  it('a process does not continue a feedback reconciliation that another process is already continuing', async () => {
    await harness.db.query(
      'system',
      'INSERT INTO feedback_reconciliation (nominal_at, began_at) VALUES (muster_now(), muster_now())',
    );
    const continued = await runBesideLock(
      harness.db,
      (tx) => tx.query('SELECT FROM feedback_reconciliation FOR UPDATE'),
      () => reconcileFeedback(harness.db, new Round('test')),
    );
    expect(continued).toEqual({ armed: 0, finished: 0 });
  });
});
