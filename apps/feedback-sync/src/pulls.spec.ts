import { FakeTrackers, waitFor } from '@muster/testing';
import { startFeedbackSync } from './feedback-sync.harness';

describe('feedback with an issue at the code host', () => {
  let trackers: FakeTrackers;
  let on: Awaited<ReturnType<typeof startFeedbackSync>>;

  beforeAll(async () => {
    trackers = await FakeTrackers.start();
    on = await startFeedbackSync({ env: { ...trackers.environment, FEEDBACK_AUTOMATION_BRANCHES: 'true' } });
  });
  afterAll(async () => {
    await on.harness.close();
    await trackers.close();
    expect(trackers.faults).toEqual([]);
  });
  afterEach(async () => {
    trackers.mishap = () => undefined;
    await on.sql('DELETE FROM feedback_tracker');
  });
  const submitAndSync = async () => {
    const id = await on.submitFeedback();
    await on.waitUntilSynced(id);
    return id;
  };
  const syncAndReadStatus = async (id: string) => {
    await on.requestSync(id);
    await on.waitUntilSynced(id);
    return on.statusOf(id);
  };

  it.each(['from its branch', 'with its marker in the text'])(
    'feedback is in progress while a pull request %s is open, and triaged when it is closed',
    async (how) => {
      const id = await submitAndSync();
      const other = await submitAndSync();
      const isBranch = how === 'from its branch';
      const pull = trackers.openPullRequest({
        branch: isBranch ? `feedback/${id.slice(-12)}` : 'fix-it',
        body: isBranch ? null : `Fixes the list.\n\nmuster-feedback:${id}`,
      });
      // Opens more pull requests after the one that the sync must find.
      for (let n = 0; n < 4; n += 1) trackers.openPullRequest({ branch: `other-${n}`, body: 'Something else' });
      expect([await syncAndReadStatus(id), await syncAndReadStatus(other)]).toEqual(['in_progress', 'triaged']);
      expect(trackers.listTasksOf(id)[0]!.status.type).toBe('custom');
      trackers.closePullRequest(pull);
      expect(await syncAndReadStatus(id)).toBe('triaged');
      expect(trackers.listTasksOf(id)[0]!.status.type).toBe('open');
    },
  );

  const dana = { assignees: [{ login: 'dana' }] };
  const closed = { state: 'closed' as const, state_reason: 'completed' };

  it.each([
    ['assignment', dana, 'in_progress', 'open', 'custom'],
    ['closing', closed, 'resolved', 'closed', 'done'],
  ])(
    'the status of feedback follows the %s of its issue even in the second in which its task was created',
    async (_, change, status, state, type) => {
      const id = await submitAndSync();
      const [[issue], [task]] = [trackers.listIssuesOf(id), trackers.listTasksOf(id)];
      // The fake code host reports the time of a change in whole seconds, so this change seems to be earlier than the
      // creation of the task.
      trackers.changeIssue(issue!, change, new Date(Number(task!.date_created)));
      expect(await syncAndReadStatus(id)).toBe(status);
      expect([issue!.state, task!.status.type]).toEqual([state, type]);
      expect(await syncAndReadStatus(id)).toBe(status);
    },
  );

  it('the status of feedback follows an assignment of its issue before the first sync', async () => {
    trackers.mishap = ({ method, path }) => {
      const number = /\/issues\/(\d+)$/.exec(path)?.[1];
      const issue = trackers.issues.find((each) => each.number === Number(number));
      if (method === 'GET' && issue?.assignees.length === 0) trackers.changeIssue(issue, dana);
      return undefined;
    };
    const id = await submitAndSync();
    trackers.mishap = () => undefined;
    expect(await syncAndReadStatus(id)).toBe('in_progress');
    expect(trackers.listTasksOf(id)[0]!.status.type).toBe('custom');
  });

  it('closing an issue changes its feedback’s status even in the second in which a sync reopened it', async () => {
    const id = await submitAndSync();
    const [issue] = trackers.listIssuesOf(id);
    trackers.changeIssue(issue!, closed);
    expect(await syncAndReadStatus(id)).toBe('resolved');
    await on.sql(`UPDATE feedback_submission SET status = 'triaged', status_at = $2 WHERE id = $1`, [
      id,
      new Date(Math.floor(Date.now() / 1000) * 1000 + 1999),
    ]);
    expect(await syncAndReadStatus(id)).toBe('triaged');
    expect(issue!.state).toBe('open');
    const [{ at }] = await on.sql('SELECT status_at AS at FROM feedback_submission WHERE id = $1', [id]);
    trackers.changeIssue(issue!, closed, at);
    expect(await syncAndReadStatus(id)).toBe('resolved');
    expect(issue!.state).toBe('closed');
  });

  it('the status of feedback follows a later change of its task that was made while the tracker was down', async () => {
    const id = await submitAndSync();
    const [[issue], [task]] = [trackers.listIssuesOf(id), trackers.listTasksOf(id)];
    trackers.mishap = ({ path }) => (path.includes('/task') ? { status: 503 } : undefined);
    trackers.changeIssue(issue!, { state: 'closed', state_reason: 'not_planned' });
    await on.requestSync(id);
    await waitFor('the status rejected', async () => (await on.statusOf(id)) === 'rejected');
    trackers.mishap = () => undefined;
    trackers.changeTaskStatus(task!, 'ready', new Date(Date.now() + 1000));
    await on.sql('UPDATE feedback_link SET next_try_at = NULL WHERE submission_id = $1', [id]);
    expect(await syncAndReadStatus(id)).toBe('resolved');
    expect([issue!.state_reason, task!.status.status]).toEqual(['completed', 'ready']);
  });

  it('a created issue is found by its marker, even if pull requests with the same marker are listed first', async () => {
    let lost = 1;
    trackers.mishap = async ({ method, path, body }) => {
      if (method !== 'POST' || !path.endsWith('/issues') || lost-- <= 0) return undefined;
      const marker = /muster-feedback:\S+/.exec(body.body as string)![0];
      for (let n = 0; n < 7; n += 1) trackers.openPullRequest({ branch: `later-${n}`, body: marker });
      return 'lost after';
    };
    const id = await submitAndSync();
    expect([lost <= 0, trackers.listIssuesOf(id).length]).toEqual([true, 1]);
    expect(trackers.calls.some(({ path }) => /^\/repositories\/42\/issues\?.*page=/.test(path))).toBe(true);
  });

  it('a sync sends no token to another origin, and creates no issue before a complete search', async () => {
    const elsewhere = await FakeTrackers.start();
    const url = elsewhere.environment['FEEDBACK_CODEHOST_API_URL'];
    trackers.mishap = ({ method, path }) =>
      method === 'GET' && path.includes('/issues?')
        ? { status: 200, headers: { link: `<${url}/repositories/42/issues?page=2>; rel="next"` }, body: [] }
        : undefined;
    const id = await on.submitFeedback();
    const error = await waitFor('the failure', async () => {
      const rows = await on.sql('SELECT error FROM feedback_link WHERE submission_id = $1 AND error IS NOT NULL', [id]);
      return rows[0]?.error as string | undefined;
    });
    expect(error).toMatch(/another address/);
    expect([elsewhere.calls.length, trackers.listIssuesOf(id).length]).toEqual([0, 0]);
    await elsewhere.close();
    trackers.mishap = () => undefined;
    await on.waitUntilSynced(id);
    expect(trackers.listIssuesOf(id)).toHaveLength(1);
  });

  it.each<[string, Record<string, string>, string]>([
    ['headers', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': 'soon' }, 'no'],
    ['message', {}, 'You have exceeded a secondary rate limit'],
  ])(
    'a tracker is paused and not stopped if the %s of a 403 response report a rate limit',
    async (_, headers, message) => {
      const sentHeaders = { ...headers };
      if (sentHeaders['x-ratelimit-reset']) sentHeaders['x-ratelimit-reset'] = String(Math.ceil(Date.now() / 1000) + 1);
      let limited = 1;
      trackers.mishap = ({ method, path }) =>
        method === 'POST' && path.endsWith('/issues') && limited-- > 0
          ? { status: 403, headers: sentHeaders, body: { message } }
          : undefined;
      const id = await on.submitFeedback();
      const pause = await waitFor('the pause', async () => (await on.sql('SELECT * FROM feedback_tracker'))[0]);
      expect(pause).toMatchObject({ tracker: 'codehost', stoppedAt: null, pausedUntil: expect.any(Date) });
      await on.sql('UPDATE feedback_tracker SET paused_until = now() - make_interval(secs => 1)');
      await on.requestSync(id);
      await on.waitUntilSynced(id);
      expect(trackers.listIssuesOf(id)).toHaveLength(1);
    },
  );

  it('feedback whose branch is refused is synced without a branch, with one entry in its history', async () => {
    trackers.mishap = ({ method, path }) =>
      method === 'POST' && path.endsWith('/git/refs')
        ? { status: 422, body: { message: 'Branches are protected' } }
        : undefined;
    const id = await submitAndSync();
    expect(await syncAndReadStatus(id)).toBe('triaged');
    const reasons = (await on.historyOf(id)).filter(({ reason }) => reason !== null);
    const reason = `could not create branch feedback/${id.slice(-12)}: codehost answered 422: Branches are protected`;
    expect(reasons).toEqual([expect.objectContaining({ source: 'codehost', reason })]);
    expect([trackers.listIssuesOf(id).length, trackers.listTasksOf(id).length]).toEqual([1, 1]);
  });
});
