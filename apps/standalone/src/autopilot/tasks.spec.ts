/* eslint-disable id-denylist -- `kept` is a field of the API. */
import type { AutopilotTask } from '@muster/contracts';
import { newId } from '@muster/platform';
import { makeWorkflow } from '@muster/testing';
import { FakeBrowsers } from './fake-browser.harness';

describe('a task from a script', () => {
  let browsers: FakeBrowsers;
  let analyze: (body: object) => Promise<{ status: number; body: any }>;

  beforeAll(async () => {
    browsers = await FakeBrowsers.start();
    const agent = browsers.getClient(await browsers.makeAgent());
    analyze = (body) => agent.act({ action: 'analyze-script', ...body });
  });
  afterAll(() => browsers.end());
  beforeEach(() => browsers.model.reset());
  afterEach(() => expect(browsers.model.faults).toEqual([]));

  const buildStep = (id: string) => ({
    id,
    title: id,
    instruction: `Do ${id}.`,
    expect: null,
    kind: 'browse' as const,
  });
  const task = {
    ...{ title: 'File a claim', goal: 'File it.', startUrl: 'https://portal.test/', inputs: ['CLAIM_ID'] },
    ...{ steps: [buildStep('sign-in'), buildStep('attach')], success: { description: 'filed', check: null } },
  };
  const buildPlanAnswer = (more: object = {}) => ({
    json: { task, kept: ['sign-in'], added: ['attach', 'attach'], notes: 'Signs in; attaches nothing yet.', ...more },
  });

  it('an autopilot plan lists the steps that the script has and the steps that it lacks, and can be started unchanged', async () => {
    browsers.model.addResponses(buildPlanAnswer());
    const answer = await analyze({ script: 'page.navigate("https://portal.test/")', gap: 'The X-ray is missing.' });
    expect(answer.status).toBe(200);
    const { task: planned, ...more } = answer.body.plan as { task: AutopilotTask };
    expect(more).toEqual({ kept: ['sign-in'], added: ['attach'], notes: 'Signs in; attaches nothing yet.' });
    expect(planned).toMatchObject({ title: 'File a claim', steps: [{ id: 'sign-in' }, { id: 'attach' }] });
    const [call] = browsers.model.calls;
    expect(call!.schemaName).toBe('autopilot_plan');
    expect(JSON.parse(call!.lastUserText)).toEqual({
      gap: 'The X-ray is missing.',
      untrustedScript: 'page.navigate("https://portal.test/")',
    });
    const agent = browsers.getClient(await browsers.makeAgent());
    browsers.model.addRule(() => ({
      json: { status: 'done', reason: '', question: '', confidence: 1, actions: [] },
    }));
    const started = await agent.act({ action: 'start', task: planned, inputs: { CLAIM_ID: 'C-1' } });
    expect(started.status).toBe(202);
    expect(await agent.until(started.body.sessionId, 'completed', 'failed', 'paused')).toMatchObject({
      status: 'completed',
    });
  });

  it('an autopilot task can be created from a workflow of the own organization, but of no other organization', async () => {
    const { organizationId } = browsers.tenant;
    const { id: workflowId } = await makeWorkflow(browsers.harness.db, { organizationId, script: 'print("filed")\n' });
    browsers.model.addResponses(buildPlanAnswer());
    expect((await analyze({ workflowId })).status).toBe(200);
    expect(browsers.model.calls[0]!.lastUserText).toContain('print(\\"filed\\")');
    const foreign = await browsers.harness.makeTenant();
    const foreignWorkflow = await makeWorkflow(browsers.harness.db, { organizationId: foreign.organizationId });
    expect(await analyze({ workflowId: foreignWorkflow.id })).toMatchObject({ status: 404 });
    expect(await analyze({ workflowId: newId() })).toMatchObject({ status: 404 });
    expect(browsers.model.calls).toHaveLength(1);
  });

  it.each([[{}], [{ script: 'x', workflowId: newId() }], [{ script: '' }], [{ script: 'x', gap: 7 }]])(
    'the analysis of a script is refused for %j without a model call',
    async (body) => {
      expect(await analyze(body)).toMatchObject({ status: 400, body: { code: 'invalid_payload' } });
      expect(browsers.model.calls).toEqual([]);
    },
  );

  it.each([
    ['names a step that it does not have', buildPlanAnswer({ kept: ['sign-in', 'fly'] })],
    ['is not a valid task', buildPlanAnswer({ task: { ...task, steps: [] } })],
    ['opens a file', buildPlanAnswer({ task: { ...task, startUrl: 'file:///etc/passwd' } })],
    ['is a refusal', { refusal: 'No.' }],
  ])('the analysis of a script is refused with model_failed if the answer of the model %s', async (_, script) => {
    browsers.model.addResponses(script);
    expect(await analyze({ script: 'x' })).toMatchObject({ status: 502, body: { code: 'model_failed' } });
  });

  it('the model receives no secret from a script, from a description of what the script lacks or from an intent', async () => {
    const secret = 'Sesame-open-77';
    await browsers.tenant.as.admin.put('/api/vault/PORTAL_PASSWORD', { value: secret });
    browsers.model.secrets.push(secret);
    browsers.model.addResponses(buildPlanAnswer(), { json: task }, { json: task });
    expect((await analyze({ script: `login("${secret}")`, gap: `It used ${secret} twice.` })).status).toBe(200);
    expect(browsers.model.calls[0]!.lastUserText).toContain('[secret]');
    const agent = browsers.getClient(await browsers.makeAgent());
    const intent = `Sign in with ${secret}`;
    expect((await agent.act({ action: 'generate-task', intent })).status).toBe(200);
    browsers.model.addRule(() => ({
      json: { status: 'done', reason: '', question: '', confidence: 1, actions: [] },
    }));
    const { body } = await agent.act({ action: 'start', intent, inputs: { CLAIM_ID: 'C-1' } });
    expect(await agent.until(body.sessionId, 'completed', 'failed', 'paused')).toMatchObject({ status: 'completed' });
    const [stored] = await browsers.harness.db.query<{ intent: string }>(
      'system',
      'SELECT intent FROM autopilot_session WHERE id = $1',
      [body.sessionId],
    );
    expect(stored!.intent).toBe('Sign in with [secret]');
    const typed = { ...task, goal: `Use ${secret}.`, success: { description: 'filed' }, inputs: [] };
    const spoken = {
      ...typed,
      steps: [{ ...buildStep('sign-in'), instruction: `Type ${secret}.` }].map(omitExpectation),
    };
    const again = await agent.act({ action: 'start', task: spoken });
    expect(again.status).toBe(202);
    await agent.until(again.body.sessionId, 'completed', 'failed', 'paused');
    expect(browsers.model.calls.length).toBe(4);
    for (const call of browsers.model.calls) expect(call.text).not.toContain(secret);
  });
});

function omitExpectation({ expect: _, ...more }: { expect: null }): object {
  return more;
}
