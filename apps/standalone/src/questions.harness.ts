import { newId } from '@muster/platform';
import { type Answer, makeJob, waitFor } from '@muster/testing';
import type { AutopilotHarness } from './autopilot/autopilot.harness';

/** Helpers for specs of runs that ask questions, with the real worker or with the test as the worker's client. */
export function createQuestionHelpers(fixture: () => Pick<AutopilotHarness, 'tenant' | 'harness' | 'agentId'>) {
  const launchScript = async (script: string, more: object = {}) => {
    const { tenant, agentId } = fixture();
    const body = { name: newId(), description: '', variables: [], script: `import muster, json\n${script}` };
    const workflow = await tenant.as.member.post('/api/workflows', body);
    const launched = await tenant.api.post('/api/jobs/launch', { workflowId: workflow.body.id, agentId, ...more });
    expect(launched.status).toBe(202);
    return launched.body.jobId as string;
  };
  const readJob = async (id: string) => (await fixture().tenant.api.get(`/api/jobs/${id}`)).body;
  const waitForEnd = (id: string) =>
    waitFor(
      'the job to end',
      async () => {
        const found = await readJob(id);
        return ['completed', 'failed', 'cancelled'].includes(found.status) && found;
      },
      60_000,
    );
  const waitForOpenQuestion = (jobId: string, at = 0) =>
    waitFor(
      'an open question',
      async () => {
        const { body } = await fixture().tenant.api.get(`/api/questions?jobId=${jobId}&status=open`);
        return body.questions[at];
      },
      30_000,
    );
  const answerQuestion = (id: string, value: unknown): Promise<Answer> =>
    fixture().tenant.as.member.post(`/api/questions/${id}/answer`, { answer: value });
  /** Creates a running job without a worker; the test acts as its client. */
  const makeRunningJob = async (more: object = {}) => {
    const { organizationId } = fixture().tenant;
    return makeJob(fixture().harness.db, {
      ...{ organizationId, status: 'running', startedAt: new Date(), commandId: newId(), ...more },
    });
  };
  const askQuestion = (jobId: string, more: object = {}) =>
    fixture().tenant.worker.post(`/api/jobs/${jobId}/questions`, {
      ...{ questionKey: 'one', question: 'Which?', kind: 'text', timeoutSeconds: 60, ...more },
    });
  const queryRows = (sql: string, ...values: unknown[]) => fixture().harness.db.query<any>('system', sql, values);
  return {
    launch: launchScript,
    job: readJob,
    ended: waitForEnd,
    open: waitForOpenQuestion,
    answer: answerQuestion,
    running: makeRunningJob,
    ask: askQuestion,
    rows: queryRows,
  };
}
