import { createSubmission } from '@muster/feedback';
import { newId } from '@muster/platform';
import { type Harness, type HarnessOptions, makeOrganization, makeUser, startHarness, waitFor } from '@muster/testing';
import { feedbackSyncConfigs } from './feedback-sync-configs';
import { FeedbackSyncModule } from './feedback-sync.module';

/** Starts this app with short intervals, and an organization that submits feedback. */
export async function startFeedbackSync({ env, ...more }: Partial<HarnessOptions>) {
  const harness = await startHarness({
    ...{ name: 'feedback-sync', configs: feedbackSyncConfigs, modules: [FeedbackSyncModule] },
    ...more,
    env: { FEEDBACK_AUTOMATION_WORKER_INTERVAL_MS: '100', FEEDBACK_TRACKER_TIMEOUT_MS: '400', ...env },
  });
  return { harness, ...(await createReportHelpers(harness)) };
}

async function createReportHelpers({ db }: Harness) {
  const { id: organizationId } = await makeOrganization(db);
  const user = await makeUser(db, { organizationId, role: 'admin' });
  const caller = {
    ...{ ...user, kind: 'user' as const, role: 'admin' as const, organizationId, sessionId: '' },
    ...{ organizationName: '', organizationSuspended: false },
  };
  const querySystem = (text: string, values: unknown[] = []) => db.query<any>('system', text, values);
  return {
    organizationId,
    sql: querySystem,
    async submitFeedback(): Promise<string> {
      const id = newId();
      const report = { type: 'bug_report' as const, title: 'Empty list', description: 'Nothing is shown.' };
      await db.transaction({ organizationId }, (tx) =>
        createSubmission(tx, caller as never, { id, report, screenshotKey: null }),
      );
      return id;
    },
    waitUntilSynced: (id: string) =>
      waitFor(`the sync of ${id}`, async () => {
        const [item] = await querySystem('SELECT due_at FROM feedback_work_item WHERE submission_id = $1', [id]);
        return item && item.dueAt === null;
      }),
    requestSync: (id: string) =>
      querySystem(
        'UPDATE feedback_work_item SET armed = armed + 1, due_at = now() - make_interval(secs => 1) WHERE submission_id = $1',
        [id],
      ),
    statusOf: async (id: string) =>
      (await querySystem('SELECT status FROM feedback_submission WHERE id = $1', [id]))[0].status as string,
    historyOf: (id: string) =>
      querySystem('SELECT * FROM feedback_status_change WHERE submission_id = $1 ORDER BY id', [id]),
  };
}
