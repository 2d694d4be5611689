// This test is long because it changes feedback on three sides in many orders.
// A short test of the same code: apps/feedback-sync/src/sync.spec.ts
import { DatabaseModule } from '@muster/database';
import { BaseConfig } from '@muster/platform';
import {
  FakeTrackers,
  type Harness,
  HttpClient,
  makeOrganization,
  makeUser,
  startHarness,
  testPassword,
  waitFor,
} from '@muster/testing';
import { createSeededRandom } from './seed';
import { ServiceProcess } from './service-process';

const seed = Number(process.env['MUSTER_SEED'] ?? 8);

describe('feedback in the service and two trackers', () => {
  let harness: Harness;
  let trackers: FakeTrackers;
  let gateway: ServiceProcess;
  let worker: ServiceProcess;
  let admin: HttpClient;

  const startWorker = () =>
    ServiceProcess.start('feedback-sync', {
      ...{ ...harness.env, ...trackers.environment, FEEDBACK_AUTOMATION_WORKER_INTERVAL_MS: '100' },
      ...{ FEEDBACK_TRACKER_TIMEOUT_MS: '300', LOG_LEVEL: 'warn' },
    });

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    trackers = await FakeTrackers.start();
    const { id: organizationId } = await makeOrganization(harness.db);
    const { email } = await makeUser(harness.db, { organizationId, role: 'admin' });
    gateway = await ServiceProcess.start('gateway', { ...harness.env, RATE_LIMIT_PER_MINUTE: '1000000' });
    worker = await startWorker();
    admin = await new HttpClient(gateway.url).signIn(email, testPassword);
  });
  afterAll(async () => {
    await gateway.end('SIGKILL');
    await worker.end('SIGKILL');
    await trackers.close();
    await harness.close();
    expect(trackers.faults).toEqual([]);
  });

  const querySql = (text: string, values: unknown[] = []) => harness.db.query<any>('system', text, values);
  const submitFeedback = async (title: string) => {
    const form = new FormData();
    form.set('payload', JSON.stringify({ type: 'bug_report', title, description: 'Nothing is shown.' }));
    const { url, headers } = admin;
    const answer = await fetch(`${url}/api/feedback-submissions`, { method: 'POST', headers, body: form });
    return ((await answer.json()) as { id: string }).id;
  };
  const waitUntilSynchronized = (id: string) =>
    waitFor(
      `${id} to be synchronized`,
      async () =>
        (await querySql('SELECT due_at FROM feedback_work_item WHERE submission_id = $1', [id]))[0]?.dueAt === null,
      30_000,
    );
  const makeDue = (id: string) =>
    querySql(
      'UPDATE feedback_work_item SET armed = armed + 1, due_at = now() - make_interval(secs => 1) WHERE ' +
        'submission_id = $1',
      [id],
    );
  const setFeedbackStatus = async (id: string, status: string) =>
    expect((await admin.patch(`/api/feedback-submissions/${id}`, { status })).status).toBe(200);
  const readFeedback = async (id: string) => (await admin.get(`/api/feedback-submissions/${id}`)).body;

  it('a feedback status that an admin sets is copied to both trackers, and recorded once', async () => {
    const id = await submitFeedback('By hand');
    await waitUntilSynchronized(id);
    const [[issue], [task]] = [trackers.listIssuesOf(id), trackers.listTasksOf(id)];
    expect((await readFeedback(id)).external).toEqual({ issueUrl: issue!.html_url, taskUrl: task!.url });
    const listTrackerStates = () => [issue!.state, issue!.state_reason, task!.status.type];
    for (const [status, ...there] of [
      ['rejected', 'closed', 'not_planned', 'closed'],
      ['triaged', 'open', 'reopened', 'open'],
      ['in_progress', 'open', 'reopened', 'custom'],
      ['resolved', 'closed', 'completed', 'done'],
      // The trackers got this state in the previous step, so nothing is written to them.
      ['closed', 'closed', 'completed', 'done'],
    ]) {
      await setFeedbackStatus(id, status!);
      await waitUntilSynchronized(id);
      expect([status, ...listTrackerStates()]).toEqual([status, ...there]);
    }
    await makeDue(id);
    await waitUntilSynchronized(id);
    const { status, history } = await readFeedback(id);
    expect(status).toBe('closed');
    expect(history.filter(({ source }: { source: string }) => source === 'user')).toHaveLength(5);
    expect(history.at(-1)).toMatchObject({ from: 'resolved', to: 'closed', source: 'user' });
  }, 60_000);

  it('a feedback report gets one issue even if a worker hangs before creating it and another worker takes over', async () => {
    let stopped = false;
    trackers.mishap = ({ method, path }) => {
      if (stopped || method !== 'GET' || !path.includes('/issues?')) return undefined;
      stopped = true;
      process.kill(worker.pid, 'SIGSTOP');
      return undefined;
    };
    const id = await submitFeedback('Hanging worker');
    await waitFor('the stop', () => stopped);
    const other = await startWorker();
    try {
      await waitUntilSynchronized(id);
      expect([trackers.listIssuesOf(id).length, trackers.listTasksOf(id).length]).toEqual([1, 1]);
    } finally {
      await other.end();
      process.kill(worker.pid, 'SIGCONT');
    }
    const next = await submitFeedback('The next');
    await waitUntilSynchronized(next);
    expect([trackers.listIssuesOf(id).length, trackers.listTasksOf(id).length]).toEqual([1, 1]);
  }, 60_000);

  it('the service and both trackers agree on a status after changes in any order, in a bounded number of calls', async () => {
    const random = createSeededRandom(seed);
    const pickRandom = <T>(list: readonly T[]): T => list[random.between(0, list.length - 1)]!;
    trackers.skewMs = { codehost: 90_000, tasktracker: -90_000 };
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) ids.push(await submitFeedback(`Apart ${n}`));
    for (const id of ids) await waitUntilSynchronized(id);
    const before = trackers.calls.length;
    let changes = 0;
    for (let step = 0; step < 60; step += 1) {
      const id = pickRandom(ids);
      const [[issue], [task]] = [trackers.listIssuesOf(id), trackers.listTasksOf(id)];
      const side = pickRandom(['user', 'codehost', 'tasktracker']);
      if (side === 'user')
        await setFeedbackStatus(id, pickRandom(['triaged', 'in_progress', 'resolved', 'closed', 'rejected']));
      else if (side === 'tasktracker')
        trackers.changeTaskStatus(task!, pickRandom(['to do', 'doing', 'ready', 'complete']));
      else if (issue!.state === 'open')
        trackers.changeIssue(issue!, { state: 'closed', state_reason: pickRandom(['completed', 'not_planned']) });
      else trackers.changeIssue(issue!, { state: 'open' });
      changes += 1;
      // Some webhooks are lost and some arrive twice, as they do in reality.
      for (let repeats = pickRandom([0, 1, 1, 2]); repeats > 0; repeats -= 1) await makeDue(id);
    }
    for (const id of ids) await waitUntilSynchronized(id);
    for (const id of ids) {
      await makeDue(id);
      await waitUntilSynchronized(id);
      const { status } = await readFeedback(id);
      const [[issue], [task]] = [trackers.listIssuesOf(id), trackers.listTasksOf(id)];
      const isClosed = ['resolved', 'closed', 'rejected'].includes(status);
      expect([id, issue!.state]).toEqual([id, isClosed ? 'closed' : 'open']);
      if (isClosed) expect(issue!.state_reason).toBe(status === 'rejected' ? 'not_planned' : 'completed');
      const types = isClosed ? ['done', 'closed'] : status === 'in_progress' ? ['custom'] : ['open'];
      expect(types).toContain(task!.status.type);
    }
    const calls = trackers.calls.length - before;
    process.stdout.write(`seed ${seed}: ${changes} changes, ${calls} calls\n`);
    expect(calls).toBeLessThan(changes * 20);
  }, 120_000);
});
