import { createSubmission } from '@muster/feedback';
import { newId } from '@muster/platform';
import { FakeTrackers, type Harness, makeOrganization, makeUser, startHarness, waitFor } from '@muster/testing';
import { feedbackSyncConfigs } from './feedback-sync-configs';
import { FeedbackSyncModule } from './feedback-sync.module';

const seed = Number(process.env['MUSTER_SEED'] ?? 7);

function createSeededRandom(from: number): () => number {
  let state = from >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe('feedback at the trackers', () => {
  let trackers: FakeTrackers;
  let harness: Harness;
  let organizationId: string;
  let caller: any;

  const startFeedbackSync = (env: Record<string, string> = {}) =>
    startHarness({
      name: 'feedback-sync',
      configs: feedbackSyncConfigs,
      modules: [FeedbackSyncModule],
      env: {
        ...trackers.environment,
        FEEDBACK_AUTOMATION_WORKER_INTERVAL_MS: '100',
        FEEDBACK_TRACKER_TIMEOUT_MS: '400',
        FEEDBACK_AUTOMATION_BRANCHES: 'true',
        ...env,
      },
    });
  const createCaller = async ({ db }: Harness) => {
    ({ id: organizationId } = await makeOrganization(db));
    const user = await makeUser(db, { organizationId, role: 'admin' });
    return { ...user, kind: 'user', sessionId: '', organizationName: '', organizationSuspended: false };
  };

  beforeAll(async () => {
    trackers = await FakeTrackers.start();
    harness = await startFeedbackSync();
    caller = await createCaller(harness);
  });
  afterAll(async () => {
    await harness.close();
    await trackers.close();
    expect(trackers.faults).toEqual([]);
  });
  afterEach(async () => {
    trackers.mishap = () => undefined;
    await querySql('DELETE FROM feedback_tracker');
  });

  const querySql = (text: string, values: unknown[] = []) => harness.db.query<any>('system', text, values);
  const submitFeedback = async (more: object = {}, to = harness) => {
    const id = newId();
    const report = { type: 'bug_report' as const, title: 'Empty list', description: 'Nothing is shown.', ...more };
    await to.db.transaction({ organizationId }, (tx) =>
      createSubmission(tx, caller, { id, report, screenshotKey: null }),
    );
    return id;
  };
  const readLinksByTracker = async (id: string) =>
    Object.fromEntries(
      (await querySql('SELECT * FROM feedback_link WHERE submission_id = $1', [id])).map((link) => [
        link.tracker,
        link,
      ]),
    );
  const waitUntilSynced = (id: string) =>
    waitFor(`the sync of ${id}`, async () => {
      const [item] = await querySql('SELECT due_at FROM feedback_work_item WHERE submission_id = $1', [id]);
      return item && item.dueAt === null;
    });
  const requestSync = (id: string) =>
    querySql(
      'UPDATE feedback_work_item SET armed = armed + 1, due_at = now() - make_interval(secs => 1) WHERE ' +
        'submission_id = $1',
      [id],
    );
  const syncAndReadStatus = async (id: string) => {
    await requestSync(id);
    await waitUntilSynced(id);
    return (await querySql('SELECT status FROM feedback_submission WHERE id = $1', [id]))[0].status;
  };
  const setStatus = (id: string, status: string) =>
    querySql('UPDATE feedback_submission SET status = $2, status_at = now() WHERE id = $1', [id, status]);
  const readStatusHistory = (id: string) =>
    querySql('SELECT * FROM feedback_status_change WHERE submission_id = $1 ORDER BY id', [id]);

  it('feedback becomes one issue and one linked task, with labels, a branch and enrichment by rules', async () => {
    const id = await submitFeedback({ description: '@boss: it crashed. muster-feedback:x', severity: 'high' });
    await waitUntilSynced(id);
    const [issue] = trackers.listIssuesOf(id);
    const [task] = trackers.listTasksOf(id);
    expect([trackers.listIssuesOf(id).length, trackers.listTasksOf(id).length]).toEqual([1, 1]);
    expect(issue!.labels).toEqual(['feedback', 'bug_report', 'high']);
    expect(issue!.body).toContain(task!.url);
    expect(task!.description).toContain(issue!.html_url);
    expect(issue!.body).not.toMatch(/@boss|muster-feedback:x/);
    expect(trackers.branches.get(`feedback/${id.slice(-12)}`)).toBe('c0ffee'.padEnd(40, '0'));
    expect(await readLinksByTracker(id)).toMatchObject({
      codehost: { externalUrl: issue!.html_url, scope: 'acme/portal', branch: `feedback/${id.slice(-12)}` },
      tasktracker: { externalUrl: task!.url, scope: '901' },
    });
    expect((await querySql('SELECT status FROM feedback_submission WHERE id = $1', [id]))[0].status).toBe('triaged');
    const [item] = await querySql('SELECT * FROM feedback_work_item WHERE submission_id = $1', [id]);
    expect(item).toMatchObject({ severity: 'high', enrichedBy: 'rule' });
  });

  it('the latest status change of feedback is copied to the service and to both trackers', async () => {
    const id = await submitFeedback();
    await waitUntilSynced(id);
    const [[issue], [task]] = [trackers.listIssuesOf(id), trackers.listTasksOf(id)];
    trackers.changeIssue(issue!, { assignees: [{ login: 'dana' }] });
    expect(await syncAndReadStatus(id)).toBe('in_progress');
    expect(task!.status.type).toBe('custom');
    trackers.changeTaskStatus(task!, 'ready');
    expect(await syncAndReadStatus(id)).toBe('resolved');
    expect([issue!.state, issue!.state_reason]).toEqual(['closed', 'completed']);
    trackers.changeIssue(issue!, { state: 'open', assignees: [] });
    expect(await syncAndReadStatus(id)).toBe('triaged');
    expect(task!.status.type).toBe('open');
    await setStatus(id, 'rejected');
    expect(await syncAndReadStatus(id)).toBe('rejected');
    expect([issue!.state_reason, task!.status.type]).toEqual(['not_planned', 'closed']);
    // The issue and the task change; the later change wins.
    trackers.changeIssue(issue!, { state: 'open' }, new Date(Date.now() + 2000));
    trackers.changeTaskStatus(task!, 'doing', new Date(Date.now() + 1000));
    expect(await syncAndReadStatus(id)).toBe('triaged');
    expect([issue!.state, task!.status.type]).toEqual(['open', 'open']);
    const before = (await readStatusHistory(id)).length;
    const calls = trackers.calls.filter(({ method }) => method !== 'GET').length;
    for (let times = 0; times < 3; times += 1) expect(await syncAndReadStatus(id)).toBe('triaged');
    expect((await readStatusHistory(id)).length).toBe(before);
    expect(trackers.calls.filter(({ method }) => method !== 'GET').length).toBe(calls);
  });

  it('a status change at a tracker is overwritten if it is older than another change', async () => {
    const id = await submitFeedback();
    await waitUntilSynced(id);
    const [task] = trackers.listTasksOf(id);
    await setStatus(id, 'in_progress');
    expect(await syncAndReadStatus(id)).toBe('in_progress');
    expect(task!.status.type).toBe('custom');
    trackers.changeTaskStatus(task!, 'to do', new Date(Date.now() - 60_000));
    expect(await syncAndReadStatus(id)).toBe('in_progress');
    expect(task!.status.type).toBe('custom');
  });

  it('feedback is unlinked from a task that is gone, while its issue is still synced', async () => {
    const id = await submitFeedback();
    await waitUntilSynced(id);
    const [issue] = trackers.listIssuesOf(id);
    trackers.tasks.splice(trackers.tasks.indexOf(trackers.listTasksOf(id)[0]!), 1);
    trackers.changeIssue(issue!, { state: 'closed', state_reason: 'completed' });
    expect(await syncAndReadStatus(id)).toBe('resolved');
    expect((await readLinksByTracker(id)).tasktracker.unlinkedAt).not.toBeNull();
    expect(await readStatusHistory(id)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ source: 'tasktracker', reason: expect.stringMatching(/gone.*ITEM_013/) }),
      ]),
    );
    expect(trackers.listTasksOf(id)).toHaveLength(0);
  });

  it('a tracker that rejects the credentials is stopped with a reason, until a call succeeds', async () => {
    trackers.mishap = ({ path }) =>
      path.startsWith('/repos') ? { status: 401, body: { message: 'Bad credentials' } } : undefined;
    const id = await submitFeedback();
    const stop = await waitFor(
      'the stop',
      async () => (await querySql('SELECT * FROM feedback_tracker WHERE stopped_at IS NOT NULL'))[0],
    );
    expect([stop.tracker, stop.reason]).toEqual(['codehost', 'codehost answered 401: Bad credentials']);
    await waitFor('its task', () => trackers.listTasksOf(id).length === 1);
    const countCodehostCalls = () => trackers.calls.filter(({ path }) => path.startsWith('/repos')).length;
    const before = countCodehostCalls();
    const other = await submitFeedback();
    await waitFor('the other’s task', () => trackers.listTasksOf(other).length === 1);
    expect(countCodehostCalls()).toBe(before);
    expect((await readStatusHistory(id)).filter(({ reason }) => /^stopped: /.test(reason))).toHaveLength(1);
    trackers.mishap = () => undefined;
    // When the service tries the stopped tracker again after ten minutes, both submissions are due again.
    const waits = await waitFor('both to wait', async () => {
      const rows = await querySql(
        `SELECT extract(epoch FROM w.due_at - t.next_try_at)::float8 AS late,
           extract(epoch FROM t.next_try_at - now())::float8 AS remaining
         FROM feedback_work_item w, feedback_tracker t WHERE submission_id = ANY($1) AND lease IS NULL`,
        [[id, other]],
      );
      return rows.length === 2 && rows;
    });
    for (const { late, remaining } of waits) {
      expect(Math.abs(late)).toBeLessThan(5);
      expect(remaining).toBeGreaterThan(540);
      expect(remaining).toBeLessThanOrEqual(600);
    }
    await querySql('UPDATE feedback_tracker SET next_try_at = now() - make_interval(secs => 1)');
    await querySql('UPDATE feedback_work_item SET due_at = now() - make_interval(secs => 1) WHERE submission_id = $1', [
      id,
    ]);
    await waitFor('both issues', () => [id, other].every((each) => trackers.listIssuesOf(each).length === 1));
    expect(await querySql('SELECT 1 FROM feedback_tracker WHERE stopped_at IS NOT NULL')).toEqual([]);
  });

  it('the sync of feedback waits as long as a tracker requests, and repeats failed calls', async () => {
    let limited = 1;
    let failed = 2;
    trackers.mishap = ({ path, method }) => {
      if (method === 'POST' && path.endsWith('/issues') && limited-- > 0)
        return { status: 429, headers: { 'retry-after': '1' } };
      if (path.includes('/task') && failed-- > 0) return { status: 502 };
      return undefined;
    };
    const began = Date.now();
    const id = await submitFeedback();
    await waitUntilSynced(id);
    expect(Date.now() - began).toBeGreaterThan(900);
    expect([trackers.listIssuesOf(id).length, trackers.listTasksOf(id).length]).toEqual([1, 1]);
    expect(await readLinksByTracker(id)).toMatchObject({
      codehost: { attempts: 0 },
      tasktracker: { attempts: 0, error: null },
    });
  });

  it('the search for a task at a tracker ends even if the tracker returns the same page for every page number', async () => {
    const tasks = [{ id: 'other', url: 'https://tasks.test/t/other', description: 'x', date_created: '1' }];
    let pagesRead = 0;
    trackers.mishap = ({ method, path }) => {
      if (method !== 'GET' || !path.includes('/list/901/task')) return undefined;
      pagesRead += 1;
      return { status: 200, body: { tasks } };
    };
    const id = await submitFeedback();
    await waitUntilSynced(id);
    expect([pagesRead, trackers.listTasksOf(id).length]).toEqual([2, 1]);
  });

  it('the sync of an issue fails permanently with a recorded error if the tracker rejects the issue', async () => {
    trackers.mishap = ({ path, method }) =>
      method === 'POST' && path.endsWith('/issues')
        ? { status: 422, body: { message: 'Validation Failed' } }
        : undefined;
    const id = await submitFeedback();
    await waitUntilSynced(id);
    expect((await readLinksByTracker(id)).codehost).toMatchObject({
      error: 'codehost answered 422: Validation Failed',
      attempts: 1,
    });
    expect((await readLinksByTracker(id)).codehost.deadAt).not.toBeNull();
    expect(trackers.listTasksOf(id)).toHaveLength(1);
  });

  it('feedback that arrives while the automation is off is synced when the automation is turned on', async () => {
    const off = await startFeedbackSync({ FEEDBACK_AUTOMATION_ENABLED: 'false' });
    const previous = { caller, organizationId };
    try {
      caller = await createCaller(off);
      const id = await submitFeedback({}, off);
      await waitFor('an empty outbox', async () => (await off.db.query('system', 'SELECT FROM outbox')).length === 0);
      expect(trackers.listIssuesOf(id).length + trackers.listTasksOf(id).length).toBe(0);
      const [item] = await off.db.query<any>('system', 'SELECT due_at FROM feedback_work_item');
      expect(item.dueAt).not.toBeNull();
      const database = { name: '', url: off.databaseUrl, drop: async () => undefined };
      const on = await startHarness({
        ...{ name: 'feedback-sync', configs: feedbackSyncConfigs, modules: [FeedbackSyncModule], database },
        env: { ...trackers.environment, FEEDBACK_AUTOMATION_WORKER_INTERVAL_MS: '100' },
      });
      await waitFor(
        'its issue and task',
        () => trackers.listIssuesOf(id).length + trackers.listTasksOf(id).length === 2,
      );
      await on.close();
    } finally {
      ({ caller, organizationId } = previous);
      await off.close();
    }
  });

  it('feedback becomes exactly one issue and one task, even if responses of the trackers are lost', async () => {
    const random = createSeededRandom(seed);
    let lost = 0;
    trackers.mishap = () => {
      if (random() > 0.3) return undefined;
      lost += 1;
      return random() < 0.5 ? 'lost before' : 'lost after';
    };
    const ids: string[] = [];
    for (let n = 0; n < 8; n += 1) ids.push(await submitFeedback({ title: `Lost ${n}` }));
    const waitUntilAllCreated = () =>
      waitFor(
        'every issue and task',
        async () => {
          // Shortens the backoff after many consecutive failures.
          await querySql(
            `UPDATE feedback_link SET next_try_at = now() - make_interval(secs => 1) WHERE next_try_at > now() + interval '3 seconds'`,
          );
          await querySql(
            `UPDATE feedback_work_item SET due_at = now() - make_interval(secs => 1) WHERE due_at > now() + interval '3 seconds'`,
          );
          return ids.every((id) => trackers.listIssuesOf(id).length && trackers.listTasksOf(id).length);
        },
        150_000,
      );
    await waitUntilAllCreated();
    // The number of lost answers depends on concurrency, so submits more until enough were lost.
    while (lost <= 20) {
      ids.push(await submitFeedback({ title: 'One more' }));
      await waitUntilAllCreated();
    }
    trackers.mishap = () => undefined;
    await querySql(`UPDATE feedback_link SET next_try_at = NULL, dead_at = NULL`);
    for (const id of ids) {
      await requestSync(id);
      await waitUntilSynced(id);
      expect([trackers.listIssuesOf(id).length, trackers.listTasksOf(id).length]).toEqual([1, 1]);
    }
    process.stdout.write(`seed ${seed}: ${lost} answers lost, ${ids.length} issues and tasks, none twice\n`);
  }, 300_000);
});
