import type { AutopilotTask } from '@muster/contracts';
import type { ModelScript } from '@muster/testing';
import { newId } from '@muster/platform';
import { FakeBrowsers } from './fake-browser.harness';

jest.setTimeout(120_000);

const act = {
  status: 'act',
  reason: '',
  question: '',
  confidence: 1,
  actions: [
    {
      ...{ action: 'click', name: 'it', value: '', all: false, submits: false },
      selectors: [{ kind: 'role', selector: 'aria/it[role="button"]' }],
    },
  ],
};
const usage = { inputTokens: 1000, outputTokens: 100 };
const validAnswer: ModelScript = { json: act, usage };

describe('a model that fails in the middle of a session', () => {
  let browsers: FakeBrowsers;

  beforeAll(async () => {
    browsers = await FakeBrowsers.start({ MODEL_TIMEOUT_MS: '1000' });
  });
  afterAll(() => browsers.end());
  beforeEach(() => {
    browsers.model.reset();
    browsers.received.length = 0;
  });

  const buildTask = (): AutopilotTask => ({
    title: `Task ${newId()}`,
    goal: 'Have it done.',
    startUrl: 'http://portal.test/',
    inputs: [],
    steps: ['first', 'second'].map((id) => ({ id, title: id, instruction: `Do ${id}.`, kind: 'browse' })),
    success: { description: 'it is done' },
  });
  const parseStepId = (text: string) => (JSON.parse(text) as { step: { id: string } }).step.id;
  /** Starts a session whose first step succeeds; at the second step the model answers with `script`. */
  const startSession = async (script: ModelScript, more: object = {}) => {
    browsers.model.addRule((call) => (parseStepId(call.lastUserText) === 'second' ? script : validAnswer));
    const agent = browsers.getClient(await browsers.makeAgent());
    const task = buildTask();
    const { body } = await agent.act({ action: 'start', task, limits: { attemptsPerStep: 2 }, ...more });
    const sessionId = body.sessionId as string;
    const waitForEnd = () => agent.until(sessionId, 'completed', 'failed', 'paused');
    return { ...agent, sessionId, task, ended: waitForEnd };
  };

  it.each<[string, ModelScript, string, RegExp]>([
    ['hangs', { hang: true }, 'execution_timeout', /sent no output for 1000 ms/],
    ['refuses', { refusal: 'I would rather not.' }, 'model_failed', /refused to answer/],
    ['answers with prose', { content: 'Sure! Here you go.' }, 'model_failed', /does not have the required format/],
    ['answers with other JSON', { json: { status: 'act' } }, 'model_failed', /does not have the required format/],
    [
      'answers with a web page',
      { raw: '<html>', contentType: 'text/html' },
      'model_failed',
      /is not valid for an OpenAI-compatible API/,
    ],
    ['is over its rate limit', { status: 429, headers: { 'retry-after': '3600' } }, 'model_failed', /pause of 3600 s/],
    ['answers with an error', { status: 400 }, 'model_failed', /answered 400/],
  ])(
    'an autopilot session pauses with the reason if the model %s, until a resume continues the step',
    async (_, script, code, reason) => {
      const session = await startSession(script);
      const { sessionId } = session;
      const paused = await session.ended();
      expect(paused).toMatchObject({
        status: 'paused',
        error: null,
        currentStep: 'second',
        pausedFor: { reason: 'attempts_exhausted', question: expect.stringMatching(reason) },
        steps: [{ status: 'passed' }, { status: 'failed', attempts: [{ outcome: 'failed', code }, { code }] }],
      });
      expect(paused.steps[1]!.attempts.map(({ error }) => error)).toEqual(Array(2).fill(expect.stringMatching(reason)));
      const { body } = await browsers.tenant.api.get(`${session.path.replace('/autopilot', '')}/logs?level=warn`);
      expect(body.entries.map(({ message }: { message: string }) => message).join('\n')).toMatch(reason);
      // After the failure, the model answers correctly again, and a user resumes the session.
      browsers.model.addRule(() => validAnswer);
      expect((await session.act({ action: 'resume', sessionId })).status).toBe(202);
      const done = await session.ended();
      expect([done.status, done.steps[0]!.attempts.length]).toEqual(['completed', 1]);
    },
  );

  it('a model that is rate-limited or unavailable for a moment is called again', async () => {
    browsers.model.addResponses(
      validAnswer,
      { status: 429, headers: { 'retry-after': '0' } },
      { status: 503, headers: { 'retry-after': '0' } },
    );
    const session = await startSession(validAnswer);
    expect(await session.ended()).toMatchObject({ status: 'completed', metrics: { attempts: 2, modelCalls: 2 } });
  });

  describe('a session without budget or without the key of its model', () => {
    const setSpendLimit = (monthlySpendLimitUsd: number | null) =>
      browsers.tenant.as.admin.patch('/api/organization/settings', { monthlySpendLimitUsd });
    beforeAll(async () => {
      const prices = [browsers.model.name, browsers.model.visionName].map((model) => ({
        ...{ provider: 'openai-compatible', model, from: '2020-01-01' },
        ...{ inputUsdPerMillion: 1000, outputUsdPerMillion: 1000 },
      }));
      expect((await browsers.tenant.as.admin.put('/api/organization/model-prices', { prices })).status).toBe(200);
    });
    afterEach(() => setSpendLimit(null));
    /** Starts the task in a new session. Each of the two steps costs 1.10 USD with the model. */
    const completeInNewSession = async ({ act: post, until, task }: Awaited<ReturnType<typeof startSession>>) => {
      browsers.model.addRule(() => validAnswer);
      const calls = browsers.model.calls.length;
      const { body } = await post({ action: 'start', task });
      const done = await until(body.sessionId, 'completed', 'failed', 'paused');
      // The new session uses the code that the first session has learned, and calls the model only for the second step.
      expect(done).toMatchObject({
        status: 'completed',
        steps: [{ attempts: [{ strategy: 'stable_code' }] }, { attempts: [{ strategy: 'model' }] }],
      });
      expect(browsers.model.calls.length - calls).toBe(1);
    };

    it('an autopilot session fails with the reason at its cost limit, and a new session uses what was learned', async () => {
      const session = await startSession(validAnswer, { limits: { costUsd: 1 } });
      expect(await session.ended()).toMatchObject({
        status: 'failed',
        code: 'limit_reached',
        error: expect.stringMatching(/limit for the cost of model calls.*Start a new session with a higher limit/),
        steps: [{ status: 'passed' }, {}],
        metrics: { passed: 1, modelCalls: 1, costUsd: 1.1 },
      });
      expect(browsers.received.at(-1)!.kind).toBe('autopilot_close');
      await completeInNewSession(session);
    });

    it('an autopilot session fails at the organization’s spend limit; a new session with a higher limit completes', async () => {
      const { body: usageNow } = await browsers.tenant.api.get('/api/usage');
      await setSpendLimit(usageNow.spendUsd + 1);
      const session = await startSession(validAnswer);
      expect(await session.ended()).toMatchObject({
        status: 'failed',
        code: 'billing_gate_closed',
        error: expect.stringMatching(/The language model cannot be called/),
        steps: [{ status: 'passed' }, {}],
        metrics: { modelCalls: 1, costUsd: 1.1 },
      });
      await setSpendLimit(null);
      await completeInNewSession(session);
    });

    it('an autopilot session fails if its model’s key is deleted; with another model, a new session completes', async () => {
      const { admin } = browsers.tenant.as;
      await admin.put('/api/vault/OWN_KEY', { value: browsers.model.key });
      const own = { baseUrl: browsers.model.url, name: browsers.model.name, visionName: browsers.model.visionName };
      expect((await admin.put('/api/organization/model', { ...own, apiKeyVaultKey: 'OWN_KEY' })).status).toBe(200);
      const session = await startSession(validAnswer);
      browsers.model.addRule(async () => {
        expect((await admin.delete('/api/vault/OWN_KEY')).status).toBe(204);
        return validAnswer;
      });
      const ended = await session.ended();
      await admin.delete('/api/organization/model');
      expect(ended).toMatchObject({
        status: 'failed',
        code: 'model_not_configured',
        steps: [{ status: 'passed' }, {}],
      });
      await completeInNewSession(session);
    });
  });
});
