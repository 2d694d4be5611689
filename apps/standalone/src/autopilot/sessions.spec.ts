import type { AutopilotTask, SessionAction } from '@muster/contracts';
import { EventStream, makeJob, waitFor } from '@muster/testing';
import { FakeBrowsers, createTask } from './fake-browser.harness';

jest.setTimeout(120_000);

const makeClick = (name: string, submits = false): SessionAction => ({
  action: 'click',
  name,
  selectors: [{ kind: 'role', selector: `aria/${name}[role="button"]` }],
  ...{ value: '', all: false, submits },
});
const answerWith = (...actions: SessionAction[]) => ({
  json: { status: 'act', reason: '', question: '', confidence: 1, actions },
});

describe('a session of the autopilot', () => {
  let browsers: FakeBrowsers;

  beforeAll(async () => {
    browsers = await FakeBrowsers.start();
  });
  afterAll(() => browsers.end());
  beforeEach(() => {
    browsers.model.reset();
    browsers.received.length = 0;
    browsers.attempt = () => ({});
    browsers.look = () => ({});
    browsers.open = () => ({});
    browsers.close = () => ({ output: { remaining: 0 } });
  });

  /** Returns a task whose end is visible on the page. */
  const newTask = (more: Partial<AutopilotTask> = {}): AutopilotTask =>
    createTask({
      steps: [{ id: 'do', title: 'Do it', instruction: 'Do it.', expect: { text: 'Done' }, kind: 'browse' }],
      ...more,
    });
  const startSession = async (body: object = {}) => {
    const agentId = await browsers.makeAgent();
    const agent = browsers.getClient(agentId);
    const answer = await agent.act({ action: 'start', task: newTask(), ...body });
    expect(answer).toMatchObject({ status: 202, body: { status: 'queued' } });
    return { ...agent, agentId, sessionId: answer.body.sessionId as string };
  };
  const readPaused = async (session: Awaited<ReturnType<typeof startSession>>) =>
    session.until(session.sessionId, 'paused', 'failed');

  it.each([
    [{}, 'task'],
    [{ intent: 'x', task: {} }, 'task.title'],
    [{ task: newTask({ startUrl: 'file:///etc/passwd' }) }, 'task.startUrl'],
    [{ task: newTask({ steps: [] }) }, 'task.steps'],
    [{ task: newTask({ steps: [newTask().steps[0]!, newTask().steps[0]!] }) }, 'task.steps.1.id'],
    [{ task: newTask({ steps: [{ ...newTask().steps[0]!, expect: {} }] }) }, 'task.steps.0.expect'],
    [{ task: newTask({ inputs: ['CLAIM'] }) }, 'inputs.CLAIM'],
    [{ task: newTask(), inputs: { PATH: 'x' } }, 'inputs.PATH'],
    [{ task: newTask(), vaultKeys: ['NOT_THERE'] }, 'vaultKeys.0'],
    [{ task: newTask(), limits: { steps: 0 } }, 'limits.steps'],
    [{ task: newTask(), approve: 'always' }, 'approve'],
  ])('an autopilot session cannot be started with %j', async (body, field) => {
    const agentId = await browsers.makeAgent();
    const { act: post, path } = browsers.getClient(agentId);
    const answer = await post({ action: 'start', ...body });
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_payload' } });
    expect(answer.body.errors.map((each: { field: string }) => each.field)).toContain(field);
    expect((await browsers.tenant.api.get(path)).body).toEqual({ sessions: [], nextCursor: null });
  });

  it('neither another session nor a run starts on the agent of an open autopilot session', async () => {
    browsers.look = () => 'nothing';
    const session = await startSession();
    expect(await session.act({ action: 'start', task: newTask() })).toMatchObject({
      status: 409,
      body: { code: 'agent_not_ready', sessionId: session.sessionId },
    });
    const { organizationId } = browsers.tenant;
    const job = await makeJob(browsers.harness.db, { organizationId, agentId: session.agentId, status: 'queued' });
    await browsers.harness.db.transaction('system', (tx) =>
      tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId: session.agentId } }),
    );
    await waitFor('the waiting reason', async () => {
      const { body } = await browsers.tenant.api.get(`/api/jobs/${job.id}`);
      return body.waiting?.reason === 'agent_busy';
    });
    const idle = (await browsers.tenant.api.get(`/api/agents/${session.agentId}`)).body;
    expect(idle.stopAt).toBeNull();
    const stopped = await browsers.tenant.as.admin.post(`/api/agent/${session.agentId}/action`, { action: 'stop' });
    expect(stopped).toMatchObject({ status: 409, body: { code: 'agent_not_ready', sessionId: session.sessionId } });
    expect(await session.act({ action: 'cancel', sessionId: session.sessionId })).toMatchObject({ status: 202 });
    await session.until(session.sessionId, 'cancelled');
    await waitFor('the run', () => browsers.received.some(({ jobId }) => jobId === job.id));
    expect(await session.act({ action: 'start', task: newTask() })).toMatchObject({
      status: 409,
      body: { jobId: job.id },
    });
  });

  it('an autopilot session pauses before a submit that needs an approval, and submits once after the approval', async () => {
    browsers.model.addResponses(answerWith(makeClick('Name'), makeClick('Send', true)));
    const session = await startSession({ approve: 'before_submit' });
    expect(await readPaused(session)).toMatchObject({
      status: 'paused',
      currentStep: 'do',
      pausedFor: { reason: 'before_submit', screenshotUrl: null },
      metrics: { attempts: 1, modelCalls: 1 },
    });
    expect(browsers.sent.get(session.sessionId)).toBeUndefined();
    const { sessionId } = session;
    expect(await session.act({ action: 'resume', sessionId })).toMatchObject({
      status: 202,
      body: { sessionId, status: 'resumed' },
    });
    expect(await session.until(sessionId, 'completed', 'failed', 'paused')).toMatchObject({
      status: 'completed',
      error: null,
    });
    expect(browsers.sent.get(sessionId)).toBe(1);
    const attempts = browsers.received.filter(({ kind }) => kind === 'autopilot_attempt').map(({ payload }) => payload);
    expect(attempts).toMatchObject([{ maySubmit: false }, { maySubmit: true, from: 1 }]);
    expect(await session.act({ action: 'resume', sessionId })).toMatchObject({ status: 409 });
    expect(await session.act({ action: 'cancel', sessionId })).toMatchObject({ status: 409 });
  });

  it('an autopilot session asks for the outcome of an interrupted submit, and never repeats it automatically', async () => {
    browsers.model.addResponses(answerWith(makeClick('Send', true)));
    browsers.attempt = ({ maySubmit }) =>
      maySubmit ? { status: 'failed', code: 'interrupted', error: 'gone', output: { submit: 'unknown', at: 0 } } : {};
    const session = await startSession();
    expect(await readPaused(session)).toMatchObject({ pausedFor: { reason: 'outcome_unknown' } });
    const { sessionId } = session;
    await session.act({ action: 'resume', sessionId, stepOverride: { skip: true } });
    expect(await session.until(sessionId, 'completed', 'failed', 'paused')).toMatchObject({
      status: 'completed',
      steps: [{ status: 'skipped', attempts: [{ outcome: 'unknown', code: 'interrupted' }] }],
    });
    expect(browsers.received.filter(({ payload }) => payload['maySubmit'] === true)).toHaveLength(1);
  });

  it.each([0, 1])('an autopilot session submits once per step, even with %s attempts in between', async (others) => {
    const between = Array<object>(others).fill(answerWith(makeClick('Nothing')));
    browsers.model.addResponses(answerWith(makeClick('Send', true)), ...between, answerWith(makeClick('Send', true)));
    browsers.attempt = ({ maySubmit: submitted, actions }) =>
      submitted || actions?.[0]?.name === 'Nothing' ? { outcome: 'failed', why: 'expect', submitted } : {};
    const session = await startSession();
    const metrics = { attempts: 2 + others };
    expect(await readPaused(session)).toMatchObject({ pausedFor: { reason: 'outcome_unknown' }, metrics });
    expect(browsers.sent.get(session.sessionId)).toBe(1);
  });

  it('an autopilot session pauses if the model is unsure twice, its attempts are used up, or the page requires a code', async () => {
    const unsure = { json: { status: 'unsure', reason: '', question: 'Which one?', confidence: 0, actions: [] } };
    browsers.model.addResponses(unsure, unsure);
    const first = await startSession();
    expect(await readPaused(first)).toMatchObject({ pausedFor: { reason: 'unsure', question: 'Which one?' } });

    browsers.model.addRule(() => answerWith(makeClick('Nothing')));
    browsers.attempt = () => ({ outcome: 'failed', why: 'selector', error: 'no element matches' });
    const second = await startSession({ limits: { attemptsPerStep: 2 } });
    expect(await readPaused(second)).toMatchObject({
      pausedFor: { reason: 'attempts_exhausted' },
      steps: [{ status: 'failed', attempts: [{ error: 'no element matches', code: 'page_selector' }, {}] }],
    });
    expect(JSON.parse(browsers.model.calls.at(-1)!.lastUserText)).toMatchObject({
      attempt: 2,
      lastError: 'no element matches',
    });

    browsers.look = () => ({ look: { asksFor: 'one_time_code' } });
    const third = await startSession();
    const metrics = { modelCalls: 0 };
    expect(await readPaused(third)).toMatchObject({ pausedFor: { reason: 'one_time_code' }, metrics });
    const { sessionId } = third;
    const resumeWith = (stepOverride: object) => third.act({ action: 'resume', sessionId, stepOverride });
    // If Python code that a user entered fails, the session pauses again without a model call.
    browsers.look = () => ({});
    browsers.attempt = () => ({ outcome: 'failed', why: 'code', error: 'page has no fil; did you mean fill?' });
    expect(await resumeWith({ code: 'page.fil("#code", "1")' })).toMatchObject({ status: 202 });
    const tried = await waitFor('the attempt', async () => {
      const read = await readPaused(third);
      return read.steps[0]!.attempts.length > 0 && read;
    });
    expect(tried).toMatchObject({
      pausedFor: { reason: 'attempts_exhausted', question: expect.stringContaining('did you mean fill?') },
      steps: [{ status: 'failed', attempts: [{ outcome: 'failed', code: 'page_code' }] }],
      metrics: { modelCalls: 0 },
    });
    browsers.attempt = () => ({});
    expect(await resumeWith({ stepId: 'other' })).toMatchObject({ status: 400 });
    expect(await resumeWith({ skip: false })).toMatchObject({ status: 400 });
    expect(await resumeWith({ selector: 'x' })).toMatchObject({ status: 400 });
    expect(await resumeWith({ code: 'page.change(["#code"], "246810")' })).toMatchObject({ status: 202 });
    expect(await third.until(sessionId, 'completed', 'failed', 'paused')).toMatchObject({
      status: 'completed',
      steps: [{ status: 'passed', stableCode: null }],
    });
    const { body } = await browsers.tenant.as.admin.get('/api/audit');
    expect(JSON.stringify(body)).not.toContain('246810');
  });

  it.each<[string, object, string]>([
    [
      'uses an unknown input',
      { ...makeClick('Name'), action: 'fill', value: '{{AWS_SECRET}}' },
      'neither an input nor a vault key',
    ],
    [
      'leaves the site',
      { ...makeClick('x'), action: 'navigate', selectors: [], value: 'https://evil.test/' },
      'not on the site',
    ],
    [
      'opens a file',
      { ...makeClick('x'), action: 'navigate', selectors: [], value: 'file:///etc/passwd' },
      'not on the site',
    ],
  ])('an autopilot session sends its browser no action that %s', async (_, action, error) => {
    browsers.model.addRule(() => answerWith(action as SessionAction));
    const session = await startSession({ limits: { attemptsPerStep: 1 } });
    const read = await readPaused(session);
    expect(read.steps[0]!.attempts).toMatchObject([{ outcome: 'failed', code: 'action_refused' }]);
    expect(read.steps[0]!.attempts[0]!.error).toContain(error);
    expect(browsers.received.filter(({ kind }) => kind === 'autopilot_attempt')).toEqual([]);
  });

  it.each<[string, object, object]>([
    ['refuses', { refusal: 'No.' }, { code: 'model_failed' }],
    ['answers with prose', { content: 'Sure! Here you go' }, { code: 'model_failed' }],
    ['answers with errors', { status: 400 }, { code: 'model_failed' }],
    ['is over its rate limit', { status: 429, headers: { 'retry-after': '3600' } }, { code: 'model_failed' }],
  ])('a resume continues an autopilot session after the model %s in all attempts', async (_, script, attempt) => {
    browsers.model.addRule(() => script);
    const session = await startSession({ limits: { attemptsPerStep: 2 } });
    expect(await readPaused(session)).toMatchObject({
      pausedFor: { reason: 'attempts_exhausted' },
      steps: [{ attempts: [attempt, attempt] }],
    });
    browsers.model.addRule(() => answerWith(makeClick('Do')));
    await session.act({ action: 'resume', sessionId: session.sessionId });
    expect(await session.until(session.sessionId, 'completed', 'failed', 'paused')).toMatchObject({
      status: 'completed',
    });
  });

  it('an autopilot session fails if its limit of cost, of steps or of minutes is used up', async () => {
    const failed = { status: 'failed', code: 'limit_reached' };
    browsers.model.addRule(() => answerWith(makeClick('Do')));
    const dear = await startSession({ limits: { costUsd: 0 } });
    expect(await dear.until(dear.sessionId, 'failed', 'completed')).toMatchObject({
      ...failed,
      metrics: { modelCalls: 0 },
    });
    const { expect: _, ...step } = newTask().steps[0]!;
    const task = newTask({ steps: [step, { ...step, id: 'more' }] });
    const long = await startSession({ limits: { steps: 1 }, task });
    expect(await long.until(long.sessionId, 'failed', 'completed')).toMatchObject(failed);
    browsers.look = () => 'nothing';
    const slow = await startSession({ limits: { minutes: 0.01 } });
    await waitFor('the page snapshot', () =>
      browsers.received.some(({ kind, agentId }) => kind === 'autopilot_look' && agentId === slow.agentId),
    );
    await browsers.harness.db.query(
      'system',
      `UPDATE autopilot_session SET due_at = now() + interval '1 s' WHERE id = $1`,
      [slow.sessionId],
    );
    expect(await slow.until(slow.sessionId, 'failed', 'completed')).toMatchObject(failed);
  });

  it('an autopilot session is cancelled only when its worker reports that its browser is closed', async () => {
    browsers.look = () => 'nothing';
    browsers.close = () => 'nothing';
    const session = await startSession();
    const { sessionId, agentId } = session;
    await waitFor('the page snapshot', () =>
      browsers.received.some(({ kind, agentId: id }) => kind === 'autopilot_look' && id === agentId),
    );
    expect(await session.act({ action: 'cancel', sessionId })).toMatchObject({
      status: 202,
      body: { status: 'running' },
    });
    const closing = await waitFor('the close command', () =>
      browsers.received.find(({ kind, agentId: id }) => kind === 'autopilot_close' && id === agentId),
    );
    expect(await session.read(sessionId)).toMatchObject({ status: 'running', cancelling: true });
    expect(await session.act({ action: 'cancel', sessionId })).toMatchObject({ status: 409 });
    await browsers.tenant.worker.post(`/api/agents/${agentId}/commands/${closing.commandId}/result`, {
      status: 'success',
      output: { remaining: 0 },
    });
    expect(await session.until(sessionId, 'cancelled')).toMatchObject({ finishedAt: expect.any(String) });
  });

  it('an autopilot session streams its states, steps and attempts, and records them on the timeline', async () => {
    browsers.model.addResponses(answerWith(makeClick('Do')));
    const session = await startSession();
    await session.until(session.sessionId, 'completed');
    const path = `${browsers.harness.url}${session.path}/events?sessionId=${session.sessionId}`;
    const stream = await EventStream.open(
      path,
      (browsers.tenant.api as unknown as { headers: Record<string, string> }).headers,
    );
    const events = [...(await stream.waitForEvents(7))];
    stream.close();
    expect(events.map(({ event, data }) => [event, (data as { status: string }).status])).toEqual([
      ['session', 'queued'],
      ['session', 'running'],
      ['step', 'running'],
      ['attempt', 'running'],
      ['attempt', 'passed'],
      ['step', 'passed'],
      ['session', 'completed'],
    ]);
    const { body } = await browsers.tenant.api.get(`/api/agents/${session.agentId}/logs?kind=execution&order=asc`);
    expect(body.entries.map(({ message }: { message: string }) => message)).toEqual([
      expect.stringContaining('queued'),
      expect.stringContaining('queued → running'),
      'Do it: attempt 1 by the model passed',
      expect.stringContaining('running → completed'),
    ]);
  });

  it('an autopilot session generates its task from an intent unless the model’s task is invalid', async () => {
    browsers.model.addRule(({ schemaName }) => {
      if (schemaName === 'autopilot_task')
        return {
          json: {
            ...newTask(),
            steps: [{ ...newTask().steps[0]!, expect: null }],
            success: { description: '', check: null },
          },
        };
      return answerWith(makeClick('Do'));
    });
    const { task: _, ...session } = { ...(await startSession({ task: undefined, intent: 'Do it' })), task: null };
    expect(await session.until(session.sessionId, 'completed', 'failed')).toMatchObject({
      status: 'completed',
      metrics: { modelCalls: 2 },
    });
    const generated = await session.act({ action: 'generate-task', intent: 'Do it' });
    expect(generated).toMatchObject({ status: 200, body: { task: { goal: 'Have it done.' } } });
    browsers.model.addRule(() => ({
      json: { ...newTask(), startUrl: 'file:///x', steps: [], success: { description: '', check: null } },
    }));
    expect(await session.act({ action: 'generate-task', intent: 'Do it' })).toMatchObject({
      status: 502,
      body: { code: 'model_failed' },
    });
  });
});
