import { FakeBrowsers, createTask } from './fake-browser.harness';

jest.setTimeout(120_000);

const buildAction = (more: object = {}) => ({
  ...{ action: 'click', name: 'it', value: '', all: false, submits: false },
  ...{ selectors: [{ kind: 'role', selector: 'aria/it[role="button"]' }] },
  ...more,
});
const buildModelAnswer = (more: object = {}, ...actions: object[]) => ({
  ...{ status: 'act', reason: '', question: '', confidence: 1 },
  ...{ actions: actions.length ? actions : [buildAction()] },
  ...more,
});
/** U+0000 and half of a surrogate pair, which JSON can contain as escapes and Postgres cannot store. */
const unstorableText = 'a\0b\ud800c';

describe('a session with texts that Postgres cannot store or that are too long', () => {
  let browsers: FakeBrowsers;

  beforeAll(async () => {
    browsers = await FakeBrowsers.start();
  });
  afterAll(() => browsers.end());
  beforeEach(() => {
    browsers.model.reset();
    browsers.attempt = () => ({});
    browsers.look = () => ({});
  });

  const runTask = async (task = createTask(), more: object = {}) => {
    const agent = browsers.getClient(await browsers.makeAgent());
    const { status, body } = await agent.act({ action: 'start', task, ...more });
    expect(status).toBe(202);
    const ended = await agent.until(body.sessionId, 'completed', 'failed', 'paused');
    return { ...agent, ended, sessionId: body.sessionId as string };
  };
  const expectNoAdvanceError = () =>
    expect(browsers.harness.logs.join('')).not.toContain('could not advance an autopilot session');

  it('an answer of the model with characters that Postgres cannot store does not fail its session', async () => {
    browsers.model.addResponses({
      json: buildModelAnswer(
        { question: unstorableText },
        buildAction({ name: unstorableText, value: unstorableText }),
      ),
    });
    const { ended } = await runTask();
    expect(ended).toMatchObject({ status: 'completed', metrics: { modelCalls: 1 } });
    browsers.model.addRule(() => ({
      json: buildModelAnswer({ status: 'unsure', question: `${unstorableText}${'😀'.repeat(50_000)}` }),
    }));
    const paused = await runTask();
    expect(paused.ended).toMatchObject({ status: 'paused', metrics: { modelCalls: 2 } });
    const { question } = paused.ended.pausedFor!;
    expect(question.startsWith('ab\ufffdc😀')).toBe(true);
    expect(question.length).toBeLessThanOrEqual(4000);
    const { body } = await browsers.tenant.api.get(`${paused.path.replace('/autopilot', '')}/logs?level=warn`);
    for (const { message } of body.entries) expect((message as string).length).toBeLessThan(5000);
    expectNoAdvanceError();
  });

  it('the error of a failed autopilot attempt is cut between characters, not within a surrogate pair', async () => {
    browsers.model.addRule(() => ({ json: buildModelAnswer() }));
    // At any length limit, one of the two texts has a surrogate pair across the limit.
    for (const before of ['', 'x']) {
      browsers.attempt = () => ({ outcome: 'failed', why: 'page', error: `${before}${'😀'.repeat(3000)}` });
      const { ended } = await runTask(createTask(), { limits: { attemptsPerStep: 1 } });
      expect(ended).toMatchObject({ status: 'paused', pausedFor: { reason: 'attempts_exhausted' } });
      expect(ended.steps[0]!.attempts[0]!.error).not.toMatch(/\p{Surrogate}|\ufffd/u);
    }
    expectNoAdvanceError();
  });

  it('a step title that reverses the text direction does not reverse the rest of an autopilot session’s question', async () => {
    browsers.model.addRule(() => ({ json: buildModelAnswer() }));
    browsers.attempt = () => ({ outcome: 'failed', why: 'page', error: 'it is\u202E gone' });
    const steps = createTask().steps.map((step) => ({ ...step, title: 'Do\u202E it' }));
    const { ended } = await runTask(createTask({ steps }), { limits: { attemptsPerStep: 1 } });
    // The page's error may contain the character, because its effect ends at the next line break.
    expect(ended.pausedFor!.question).toBe(
      '“Do it” did not succeed in 1 attempts. The last error: it is\u202E gone\nWhat should the session do?',
    );
    expect(ended.steps[0]!.title).toBe('Do\u202E it');
  });

  it('an autopilot task’s title of 200 characters becomes the complete name of the task’s workflow', async () => {
    browsers.model.addRule(() => ({ json: buildModelAnswer() }));
    const title = `x${'😀'.repeat(199)}`;
    const { ended } = await runTask(createTask({ title }));
    expect(ended).toMatchObject({ status: 'completed', code: null });
    const { body } = await browsers.tenant.api.get(`/api/workflows/${ended.workflowId}`);
    expect(body.name).toBe(title);
    expectNoAdvanceError();
  });

  it.each([
    ['51 actions', Array.from({ length: 51 }, () => buildAction())],
    ['a selector that is too long', [buildAction({ selectors: [{ kind: 'css', selector: 'a'.repeat(2001) }] })]],
    ['too many selectors', [buildAction({ selectors: Array(51).fill({ kind: 'css', selector: 'a' }) })]],
    ['a value that is too long', [buildAction({ value: 'a'.repeat(20_001) })]],
    ['a name that is too long', [buildAction({ name: 'a'.repeat(501) })]],
  ])('an autopilot session’s attempt at a step fails if the model returns %s', async (_, actions) => {
    browsers.model.addRule(() => ({ json: buildModelAnswer({}, ...actions) }));
    const { ended } = await runTask(createTask(), { limits: { attemptsPerStep: 1 } });
    expect(ended.steps[0]!.attempts).toMatchObject([{ outcome: 'failed', code: 'action_refused' }]);
  });

  it('the tokens of each model call of an autopilot session are counted, even if the answer is invalid', async () => {
    const usage = { inputTokens: 1000, outputTokens: 100 };
    browsers.model.addResponses({ content: 'Sure!', usage }, { json: buildModelAnswer(), usage });
    const { ended } = await runTask();
    const twice = { modelCalls: 2, inputTokens: 2000, outputTokens: 200 };
    expect(ended).toMatchObject({ status: 'completed', metrics: twice, steps: [{ attempts: [{ usage: twice }] }] });
    const { title, goal, steps, success } = createTask();
    const twins = [...steps, ...steps].map((step) => ({ ...step, expect: null }));
    const task = { title, goal, startUrl: null, inputs: [], steps: twins, success: { ...success, check: null } };
    browsers.model.addResponses({ json: task, usage });
    const agent = browsers.getClient(await browsers.makeAgent());
    const { body } = await agent.act({ action: 'start', intent: 'Do it.' });
    expect(await agent.until(body.sessionId, 'completed', 'failed')).toMatchObject({
      ...{ status: 'failed', code: 'model_failed' },
      metrics: { modelCalls: 1, ...usage },
    });
  });

  it('the model is not called if the cost limit of the autopilot session is 0', async () => {
    const agent = browsers.getClient(await browsers.makeAgent());
    const { body } = await agent.act({ action: 'start', intent: 'Do it.', limits: { costUsd: 0 } });
    expect(await agent.until(body.sessionId, 'completed', 'failed')).toMatchObject({ code: 'limit_reached' });
    expect(browsers.model.calls).toEqual([]);
  });
});
