// This test is long because it learns and replays a task in a real browser.
// A short test of the same code: apps/standalone/src/autopilot/tasks.spec.ts
import type { AutopilotSession } from '@muster/contracts';
import { waitFor } from '@muster/testing';
import { AutopilotHarness, chromium, noChromium } from './autopilot.harness';
import { scriptStepAnswers, type StepQuestion } from './portal-model.harness';

jest.setTimeout(240_000);

const itPlays = chromium ? it : it.skip;

describe(`a task of the autopilot${noChromium}`, () => {
  let pilot: AutopilotHarness;
  const questions: StepQuestion[] = [];
  const figures: [string, AutopilotSession['metrics']][] = [];
  let workflowId: string;

  beforeAll(async () => {
    if (!chromium) return;
    pilot = await AutopilotHarness.start();
    scriptStepAnswers(pilot.model, questions);
    await pilot.setModelPrice({ inputPerMillion: 2.5, outputPerMillion: 10 });
  });
  afterAll(async () => {
    if (!chromium) return;
    await pilot.close();
    process.stdout.write(`${formatFigures(figures)}\n`);
  });

  const listStepAttempts = ({ steps }: AutopilotSession) =>
    steps.map(({ id, attempts }) => [id, ...attempts.map(({ strategy, outcome }) => `${strategy} ${outcome}`)]);

  itPlays('the first session of a task learns each step with the model and creates a workflow', async () => {
    const session = await pilot.waitForStatus(await pilot.beginSession(pilot.startClaimSession('C-1001')));
    expect({ ...session, steps: listStepAttempts(session) }).toMatchObject({
      status: 'completed',
      error: null,
      steps: [
        ['sign-in', 'model passed'],
        ['open-form', 'model passed'],
        ['fill-form', 'model passed'],
        ['send', 'model passed'],
        ['arrived', 'stable_code passed'],
      ],
      metrics: { steps: 5, passed: 5, attempts: 5, modelCalls: 4, inputTokens: 8000, outputTokens: 600, healed: 0 },
    });
    // 8,000 input tokens at 2.50 USD and 600 output tokens at 10.00 USD per million.
    expect(session.metrics.costUsd).toBe(0.026);
    expect(session.steps.map(({ attempts }) => attempts[0]!.usage.costUsd)).toEqual([
      0.0065, 0.0065, 0.0065, 0.0065, 0,
    ]);
    const { body: costs } = await pilot.tenant.api.get('/api/costs?groupBy=model');
    expect(JSON.stringify(costs)).toContain('fake-vision');
    expect(pilot.portal.countSubmissions('C-1001')).toBe(1);
    expect(pilot.model.faults).toEqual([]);
    expect(questions.map(({ secrets }) => secrets)).toEqual(Array(4).fill(['PORTAL_PASSWORD']));
    expect(session.steps[0]!.selectors.map(({ name }) => name)).toEqual(['user', 'password', 'sign in']);
    figures.push(['first', session.metrics]);
    workflowId = session.workflowId!;
    expect((await pilot.tenant.api.get(`/api/workflows/${workflowId}`)).body).toMatchObject({
      name: 'File a claim',
      variables: ['PORTAL_USER', 'CLAIM_ID', 'AMOUNT'],
    });
  });

  itPlays('the second session of a task needs no model', async () => {
    const calls = pilot.model.calls.length;
    const session = await pilot.waitForStatus(await pilot.beginSession(pilot.startClaimSession('C-1002')));
    expect({ ...session, steps: listStepAttempts(session) }).toMatchObject({
      status: 'completed',
      error: null,
      steps: ['sign-in', 'open-form', 'fill-form', 'send', 'arrived'].map((id) => [id, 'stable_code passed']),
      metrics: { passed: 5, attempts: 5, modelCalls: 0, costUsd: 0 },
    });
    expect(pilot.model.calls).toHaveLength(calls);
    expect(pilot.portal.countSubmissions('C-1002')).toBe(1);
    figures.push(['second', session.metrics]);
  });

  itPlays(
    'a learned step is repaired without the model after a redesign of the page, and the repair is kept',
    async () => {
      pilot.portal.design = 'third';
      const session = await pilot.waitForStatus(await pilot.beginSession(pilot.startClaimSession('C-1003')));
      expect(session).toMatchObject({ status: 'completed', error: null, metrics: { healed: 1, modelCalls: 0 } });
      expect(listStepAttempts(session)[3]).toEqual(['send', 'stable_code failed', 'selectors passed']);
      expect(pilot.portal.countSubmissions('C-1003')).toBe(1);
      figures.push(['healed', session.metrics]);
      const again = await pilot.waitForStatus(await pilot.beginSession(pilot.startClaimSession('C-1004')));
      expect(again).toMatchObject({ status: 'completed', metrics: { attempts: 5, modelCalls: 0, healed: 0 } });
      figures.push(['after it', again.metrics]);
    },
  );

  itPlays(
    'the model repairs a learned step once if no learned selector fits, and the claim is submitted once',
    async () => {
      pilot.portal.design = 'fourth';
      const calls = pilot.model.calls.length;
      const session = await pilot.waitForStatus(await pilot.beginSession(pilot.startClaimSession('C-1006')));
      expect(session).toMatchObject({ status: 'completed', error: null, metrics: { healed: 1, modelCalls: 1 } });
      expect(listStepAttempts(session)[3]).toEqual(['send', 'stable_code failed', 'selectors failed', 'model passed']);
      expect(session.steps[3]!.stableCode).toContain('Transmit now');
      expect(pilot.portal.countSubmissions('C-1006')).toBe(1);
      figures.push(['healed by the model', session.metrics]);
      const again = await pilot.waitForStatus(await pilot.beginSession(pilot.startClaimSession('C-1007')));
      expect(again).toMatchObject({ status: 'completed', metrics: { attempts: 5, modelCalls: 0, healed: 0 } });
      expect(pilot.portal.countSubmissions('C-1007')).toBe(1);
      expect(pilot.model.calls).toHaveLength(calls + 1);
    },
  );

  itPlays('the workflow of a learned task runs with other inputs and without a model', async () => {
    pilot.portal.design = 'second';
    const calls = pilot.model.calls.length;
    const { body } = await pilot.tenant.api.post('/api/jobs/launch', {
      agentId: pilot.agentId,
      workflowId,
      variables: { PORTAL_USER: pilot.portal.user, CLAIM_ID: 'C-1005', AMOUNT: '99.50' },
      vaultKeys: ['PORTAL_PASSWORD'],
    });
    const job: any = await waitFor(
      'the job to end',
      async () => {
        const read = (await pilot.tenant.api.get(`/api/jobs/${body.jobId}`)).body;
        return !['queued', 'running'].includes(read.status) && read;
      },
      90_000,
    );
    expect(job).toMatchObject({ status: 'completed', error: null });
    expect(pilot.model.calls).toHaveLength(calls);
    expect(pilot.portal.submitted.filter(({ claim }) => claim === 'C-1005')).toEqual([
      expect.objectContaining({ amount: '99.50', payer: 'Cigna' }),
    ]);
  });

  itPlays('a learned task puts no secret into a row, a log or a model call', async () => {
    const { password } = pilot.portal;
    const rows = await pilot.harness.db.query<{ text: string }>(
      'system',
      `SELECT (SELECT string_agg(s::text, '') FROM autopilot_session s) || (SELECT string_agg(s::text, '') FROM autopilot_step s)
         || (SELECT string_agg(s::text, '') FROM autopilot_attempt s) || (SELECT string_agg(s::text, '') FROM autopilot_event s)
         || (SELECT string_agg(s::text, '') FROM autopilot_lesson s) || (SELECT string_agg(s::text, '') FROM agent_command s)
         || (SELECT string_agg(s::text, '') FROM timeline_entry s) || (SELECT string_agg(s::text, '') FROM artifact s) AS text`,
    );
    expect(rows[0]!.text).toContain('PORTAL_PASSWORD');
    expect(rows[0]!.text).not.toContain(password);
    expect(pilot.harness.logs.join('')).not.toContain(password);
    for (const call of pilot.model.calls) expect(call.text).not.toContain(password);
  });
});

function formatFigures(figures: [string, AutopilotSession['metrics']][]): string {
  const rows = figures.map(
    ([name, { attempts, modelCalls, inputTokens, outputTokens, costUsd, durationMs, healed }]) =>
      `${name.padEnd(19)} attempts ${attempts}  model calls ${modelCalls}  tokens ${inputTokens} in ${outputTokens} out  ` +
      `cost ${costUsd} USD  ${(durationMs / 1000).toFixed(1)} s  healed ${healed}`,
  );
  return ['autopilot, one task:', ...rows].join('\n');
}
