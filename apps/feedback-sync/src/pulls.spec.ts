import { FakeTrackers, waitFor } from '@muster/testing';
import { startFeedbackSync } from './feedback-sync.harness';

describe('feedback at a code host', () => {
  let trackers: FakeTrackers;
  let on: Awaited<ReturnType<typeof startFeedbackSync>>;

  beforeAll(async () => {
    trackers = await FakeTrackers.start();
    on = await startFeedbackSync({ env: { ...trackers.env, FEEDBACK_AUTOMATION_BRANCHES: 'true' } });
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
  const submitted = async () => {
    const id = await on.submit();
    await on.settled(id);
    return id;
  };
  const look = async (id: string) => {
    await on.ring(id);
    await on.settled(id);
    return on.statusOf(id);
  };

  it.each(['from its branch', 'with its marker in the text'])(
    'is in progress while a pull request %s is open, and triaged when it is closed',
    async (how) => {
      const id = await submitted();
      const other = await submitted();
      const isBranch = how === 'from its branch';
      const pull = trackers.openPull({
        branch: isBranch ? `feedback/${id.slice(-12)}` : 'mend-it',
        body: isBranch ? null : `Mends the list.\n\nmuster-feedback:${id}`,
      });
      // It is not the newest for long.
      for (let n = 0; n < 4; n += 1) trackers.openPull({ branch: `other-${n}`, body: 'Something else' });
      expect([await look(id), await look(other)]).toEqual(['in_progress', 'triaged']);
      expect(trackers.tasksOf(id)[0]!.status.type).toBe('custom');
      trackers.closePull(pull);
      expect(await look(id)).toBe('triaged');
      expect(trackers.tasksOf(id)[0]!.status.type).toBe('open');
    },
  );

  const dana = { assignees: [{ login: 'dana' }] };
  const closed = { state: 'closed' as const, state_reason: 'completed' };

  it.each([
    ['assigns it', dana, 'in_progress', 'open', 'custom'],
    ['closes it', closed, 'resolved', 'closed', 'done'],
  ])('is as whoever %s within the second of the task says', async (_, change, status, state, type) => {
    const id = await submitted();
    const [[issue], [task]] = [trackers.issuesOf(id), trackers.tasksOf(id)];
    // The code host cuts the time to its second, which is before the task was made.
    trackers.moveIssue(issue!, change, new Date(Number(task!.date_created)));
    expect(await look(id)).toBe(status);
    expect([issue!.state, task!.status.type]).toEqual([state, type]);
    expect(await look(id)).toBe(status);
  });

  it('is as whoever assigns it before it is first looked at says', async () => {
    trackers.mishap = ({ method, path }) => {
      const number = /\/issues\/(\d+)$/.exec(path)?.[1];
      const issue = trackers.issues.find((each) => each.number === Number(number));
      if (method === 'GET' && issue?.assignees.length === 0) trackers.moveIssue(issue, dana);
      return undefined;
    };
    const id = await submitted();
    trackers.mishap = () => undefined;
    expect(await look(id)).toBe('in_progress');
    expect(trackers.tasksOf(id)[0]!.status.type).toBe('custom');
  });

  it('stays closed where somebody closes it within the second in which we have reopened it', async () => {
    const id = await submitted();
    const [issue] = trackers.issuesOf(id);
    trackers.moveIssue(issue!, closed);
    expect(await look(id)).toBe('resolved');
    await on.sql(`UPDATE feedback_submission SET status = 'triaged', status_at = $2 WHERE id = $1`, [
      id,
      new Date(Math.floor(Date.now() / 1000) * 1000 + 1999),
    ]);
    expect(await look(id)).toBe('triaged');
    expect(issue!.state).toBe('open');
    const [{ at }] = await on.sql('SELECT status_at AS at FROM feedback_submission WHERE id = $1', [id]);
    trackers.moveIssue(issue!, closed, at);
    expect(await look(id)).toBe('resolved');
    expect(issue!.state).toBe('closed');
  });

  it('is resolved by its task that is done after it was closed as not planned, while the tasks did not answer', async () => {
    const id = await submitted();
    const [[issue], [task]] = [trackers.issuesOf(id), trackers.tasksOf(id)];
    trackers.mishap = ({ path }) => (path.includes('/task') ? { status: 503 } : undefined);
    trackers.moveIssue(issue!, { state: 'closed', state_reason: 'not_planned' });
    await on.ring(id);
    await waitFor('it to be rejected', async () => (await on.statusOf(id)) === 'rejected');
    trackers.mishap = () => undefined;
    trackers.moveTask(task!, 'ready', new Date(Date.now() + 1000));
    await on.sql('UPDATE feedback_link SET next_try_at = NULL WHERE submission_id = $1', [id]);
    expect(await look(id)).toBe('resolved');
    expect([issue!.state_reason, task!.status.status]).toEqual(['completed', 'ready']);
  });

  it('is found again on whichever page the links lead to, and never taken for a pull request', async () => {
    let lost = 1;
    trackers.mishap = async ({ method, path, body }) => {
      if (method !== 'POST' || !path.endsWith('/issues') || lost-- <= 0) return undefined;
      const marker = /muster-feedback:\S+/.exec(body.body as string)![0];
      for (let n = 0; n < 7; n += 1) trackers.openPull({ branch: `later-${n}`, body: marker });
      return 'lost after';
    };
    const id = await submitted();
    expect([lost <= 0, trackers.issuesOf(id).length]).toEqual([true, 1]);
    expect(trackers.calls.some(({ path }) => /^\/repositories\/42\/issues\?.*page=/.test(path))).toBe(true);
  });

  it('sends its token to no other address that a link names, and makes nothing without having looked', async () => {
    const elsewhere = await FakeTrackers.start();
    const url = elsewhere.env['FEEDBACK_CODEHOST_API_URL'];
    trackers.mishap = ({ method, path }) =>
      method === 'GET' && path.includes('/issues?')
        ? { status: 200, headers: { link: `<${url}/repositories/42/issues?page=2>; rel="next"` }, body: [] }
        : undefined;
    const id = await on.submit();
    const error = await waitFor('the failure', async () => {
      const rows = await on.sql('SELECT error FROM feedback_link WHERE submission_id = $1 AND error IS NOT NULL', [id]);
      return rows[0]?.error as string | undefined;
    });
    expect(error).toMatch(/another address/);
    expect([elsewhere.calls.length, trackers.issuesOf(id).length]).toEqual([0, 0]);
    await elsewhere.close();
    trackers.mishap = () => undefined;
    await on.settled(id);
    expect(trackers.issuesOf(id)).toHaveLength(1);
  });

  it.each<[string, Record<string, string>, string]>([
    ['as its headers count', { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': 'soon' }, 'no'],
    ['as its words say', {}, 'You have exceeded a secondary rate limit'],
  ])('rests where a 403 is a limit %s, and is not stopped', async (_, headers, message) => {
    const said = { ...headers };
    if (said['x-ratelimit-reset']) said['x-ratelimit-reset'] = String(Math.ceil(Date.now() / 1000) + 1);
    let limited = 1;
    trackers.mishap = ({ method, path }) =>
      method === 'POST' && path.endsWith('/issues') && limited-- > 0
        ? { status: 403, headers: said, body: { message } }
        : undefined;
    const id = await on.submit();
    const rest = await waitFor('the rest', async () => (await on.sql('SELECT * FROM feedback_tracker'))[0]);
    expect(rest).toMatchObject({ tracker: 'codehost', stoppedAt: null, pausedUntil: expect.any(Date) });
    await on.sql('UPDATE feedback_tracker SET paused_until = now() - make_interval(secs => 1)');
    await on.ring(id);
    await on.settled(id);
    expect(trackers.issuesOf(id)).toHaveLength(1);
  });

  it('has in its history why there is no branch, once, and goes on without', async () => {
    trackers.mishap = ({ method, path }) =>
      method === 'POST' && path.endsWith('/git/refs')
        ? { status: 422, body: { message: 'Branches are protected' } }
        : undefined;
    const id = await submitted();
    expect(await look(id)).toBe('triaged');
    const told = (await on.historyOf(id)).filter(({ reason }) => reason !== null);
    const reason = `no branch feedback/${id.slice(-12)}: codehost answered 422: Branches are protected`;
    expect(told).toEqual([expect.objectContaining({ source: 'codehost', reason })]);
    expect([trackers.issuesOf(id).length, trackers.tasksOf(id).length]).toEqual([1, 1]);
  });
});
