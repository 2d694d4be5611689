// This test is long because it operates one page in a browser.
// A short test of the same code: apps/standalone/src/autopilot/sessions.spec.ts
import type { AutopilotTask } from '@muster/contracts';
import { FakeModel, FakePortal, type HttpClient, waitFor } from '@muster/testing';
import { ConsoleFixture, describeInBrowser, executable } from './console-fixture';
import { findDisplayFaults, makeHostileText, hostileText, isImageLoaded } from './strange-content';

jest.setTimeout(300_000);

const title = 'See <b>the</b> sign-in שלום 🦷';

describeInBrowser('the autopilot’s pages', () => {
  let fixture: ConsoleFixture;
  let model: FakeModel;
  let portal: FakePortal;
  let api: HttpClient;
  let agentId: string;

  beforeAll(async () => {
    [model, portal] = await Promise.all([FakeModel.start(), FakePortal.start()]);
    fixture = await ConsoleFixture.startOwnService({ ...model.environment, CHROMIUM: executable });
    api = await fixture.createApiClient();
    agentId = (await api.get('/api/agents')).body.agents[0].id;
    await waitFor(
      'the agent to be online',
      async () => (await api.get(`/api/agents/${agentId}`)).body.status === 'online',
      60_000,
    );
  });
  afterAll(async () => {
    await fixture?.end();
    await Promise.all([model?.close(), portal?.close()]);
  });
  afterEach(() => expect(model.faults).toEqual([]));

  /** The first step needs no model; for the second step the model is unsure, so the session pauses. */
  const buildUnsureTask = (): AutopilotTask => ({
    title,
    goal: 'See the sign-in page, then do what nobody knows.',
    startUrl: `${portal.url}/login`,
    inputs: ['CLAIM_ID'],
    steps: [
      { id: 'see', title: 'See it', instruction: 'See it.', expect: { text: 'User name' }, kind: 'verify' },
      { id: 'riddle', title: 'The riddle', instruction: 'Do it.', expect: { text: 'never' }, kind: 'browse' },
    ],
    success: { description: 'it was seen' },
  });
  const addUnsureModelRule = () =>
    model.addRule((call) =>
      call.schemaName === 'autopilot_step'
        ? { json: { status: 'unsure', reason: '', question: hostileText, confidence: 0.1, actions: [] } }
        : undefined,
    );

  it('the autopilot’s pages start a session from a description, show it live and skip a step', async () => {
    addUnsureModelRule();
    model.addRule((call) =>
      call.schemaName === 'autopilot_task' ? { json: fillTaskKeysWithNulls(buildUnsureTask()) } : undefined,
    );
    const tab = await fixture.openSignedInTab('/app');
    const { page } = tab;
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Autopilot' }).click();
    await page.getByRole('heading', { level: 1, name: 'Autopilot' }).waitFor();
    await page.getByRole('button', { name: 'New session' }).first().click();
    const dialog = page.getByRole('dialog', { name: 'New session' });
    await dialog.getByLabel('Agent').selectOption(agentId);
    await dialog.getByLabel('Description').fill('See the sign-in page.');
    await dialog.getByRole('button', { name: 'Generate task' }).click();
    await waitFor('the task', async () => (await dialog.getByLabel('Task').count()) === 1);
    expect(JSON.parse(await dialog.getByLabel('Task').inputValue())).toMatchObject({ title, inputs: ['CLAIM_ID'] });
    await dialog.getByLabel('Inputs').fill('CLAIM_ID=C-1\nnonsense');
    await dialog.getByRole('button', { name: 'Start session' }).click();
    await dialog.getByRole('alert').getByText('is not in the form NAME=value').waitFor();
    await dialog.getByLabel('Inputs').fill('CLAIM_ID=C-1');
    expect(await tab.findBarriers()).toEqual([]);
    await dialog.getByRole('button', { name: 'Start session' }).click();

    await page.getByRole('heading', { level: 1, name: title }).waitFor();
    const steps = page.getByTestId('session-step');
    await steps.filter({ hasText: 'See it' }).getByText('passed').first().waitFor({ timeout: 90_000 });
    await page.getByTestId('session-status').filter({ hasText: 'paused' }).waitFor({ timeout: 90_000 });
    expect(await page.getByTestId('session-question').textContent()).toContain(hostileText.slice(0, 3000));
    const screenshot = page.getByRole('img', { name: 'The page when the session paused' });
    await screenshot.scrollIntoViewIfNeeded();
    await waitFor('the screenshot to load', () => screenshot.evaluate(isImageLoaded));
    expect(await tab.findBarriers()).toEqual([]);

    await page.getByLabel('Skip this step').check();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByTestId('session-status').filter({ hasText: 'completed' }).waitFor({ timeout: 90_000 });
    await page.getByText('The session created the workflow').getByRole('link').click();
    await page.getByLabel('Script', { exact: true }).first().waitFor();
    expect(await page.title()).not.toBe('broken');
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('hostile texts of a session run no code, reverse no text and overflow no page', async () => {
    const unsureAnswer = { status: 'unsure', reason: '', question: makeHostileText('Question') };
    model.addRule((call) =>
      call.schemaName === 'autopilot_step' ? { json: { ...unsureAnswer, confidence: 0.1, actions: [] } } : undefined,
    );
    const steps = buildUnsureTask().steps.map((step) => ({
      ...step,
      ...{ title: makeHostileText('Step'), instruction: `${'W'.repeat(3000)}\n${makeHostileText('Do')}` },
    }));
    const texts = {
      title: makeHostileText('Task'),
      goal: makeHostileText('Goal'),
      success: { description: makeHostileText('Success') },
    };
    const path = `/api/agents/${agentId}/autopilot`;
    const started = await api.post(path, {
      ...{ action: 'start', task: { ...buildUnsureTask(), ...texts, steps }, inputs: { CLAIM_ID: 'C-3' } },
    });
    expect(started.status).toBe(202);
    const { sessionId } = started.body;
    const found: [page: string, fault: string][] = [];
    for (const width of [1440, 390]) {
      const tab = await fixture.openSignedInTab(`/app/autopilot/${sessionId}`, { width });
      const { page } = tab;
      const collectDisplayFaults = async (name: string) =>
        found.push(...(await findDisplayFaults(tab)).map((fault): [string, string] => [`${name}, ${width} px`, fault]));
      await page.getByTestId('session-status').filter({ hasText: 'paused' }).waitFor({ timeout: 90_000 });
      await page.locator('details').evaluateAll((all) => all.forEach((each: any) => (each.open = true)));
      await collectDisplayFaults('session');
      await tab.goto('/app/autopilot');
      await page.getByText(makeHostileText('Task').slice(0, 8)).first().waitFor();
      await collectDisplayFaults('list');
      expect(tab.complaints).toEqual([]);
      await tab.close();
    }
    await api.post(path, { action: 'cancel', sessionId });
    const readSessionStatus = async () => (await api.get(`/api/autopilot-sessions/${sessionId}`)).body.status;
    await waitFor('the end of the session', async () => (await readSessionStatus()) === 'cancelled');
    expect(found).toEqual([]);
  });

  it('the autopilot’s pages find sessions by text and status, and cancel a paused session', async () => {
    addUnsureModelRule();
    const { body } = await api.post(`/api/agents/${agentId}/autopilot`, {
      action: 'start',
      task: { ...buildUnsureTask(), title: 'Needle in the portal' },
      inputs: { CLAIM_ID: 'C-2' },
    });
    const tab = await fixture.openSignedInTab('/app/autopilot?status=paused');
    const { page } = tab;
    const row = page.getByRole('row', { name: /Needle in the portal/ });
    await row.getByText('paused').waitFor({ timeout: 90_000 });
    await page.getByRole('searchbox', { name: 'Search sessions' }).fill('NEEDLE');
    await waitFor('the search in the address', () => page.url().includes('q=NEEDLE'));
    await page.getByRole('button', { name: 'Actions for Needle in the portal' }).click();
    await page.getByRole('menuitem', { name: 'Cancel' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel session' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByLabel('Status').selectOption('cancelled');
    await row.getByText('cancelled').waitFor({ timeout: 60_000 });
    await row.getByRole('link', { name: 'Needle in the portal' }).click();
    await page.getByTestId('session-status').filter({ hasText: 'cancelled' }).waitFor();
    expect(page.url()).toContain(body.sessionId);
    expect(await page.getByRole('button', { name: 'Cancel session' }).count()).toBe(0);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it.each([
    { theme: 'light', width: 1440 },
    { theme: 'dark', width: 1440 },
    { theme: 'light', width: 360 },
  ] as const)('the autopilot’s pages are accessible: $theme, $width px', async (appearance) => {
    const { sessions } = (await api.get('/api/autopilot-sessions')).body;
    const tab = await fixture.openSignedInTab('/app/autopilot', appearance);
    const { page } = tab;
    await page.getByRole('table').waitFor();
    for (const path of ['/app/autopilot', ...sessions.map((each: any) => `/app/autopilot/${each.sessionId}`)]) {
      await page.goto(`${fixture.address}${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await waitFor(`the content of ${path}`, async () => (await page.getByLabel('Loading').count()) === 0);
      expect([path, await tab.findBarriers()]).toEqual([path, []]);
      const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
      expect([path, overflow <= 0]).toEqual([path, true]);
    }
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});

/** Returns the task with all keys, as a strict schema requires. */
function fillTaskKeysWithNulls(task: AutopilotTask): object {
  const fillExpectationKeys = (value: object | null | undefined) =>
    value ? { url: null, text: null, notText: null, selector: null, ...value } : null;
  return {
    ...task,
    steps: task.steps.map((step) => ({ ...step, expect: fillExpectationKeys(step.expect) })),
    success: { ...task.success, check: fillExpectationKeys(task.success.check) },
  };
}
