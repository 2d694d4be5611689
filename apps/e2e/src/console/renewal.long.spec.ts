// This test is long because it opens many pages in a browser and changes what they show.
// A short test of the same code: apps/e2e/src/console/stories.spec.ts
import { type HttpClient, waitFor } from '@muster/testing';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(240_000);

describeInBrowser('a page that is updated while it is used', () => {
  let fixture: ConsoleFixture;
  let api: HttpClient;
  let demoId: string;
  /** An agent without a worker, so its runs stay queued. */
  let silentId: string;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
    api = await fixture.createApiClient();
    demoId = (await api.get('/api/agents')).body.agents[0].id;
    silentId = (await api.post('/api/agents', { name: 'Silent', provider: 'external' })).body.agent.id;
  });
  afterAll(() => fixture?.end());

  const createWorkflow = async (name: string, more: object = {}) =>
    (await api.post('/api/workflows', { name, script: 'print("hello")\n', ...more })).body;

  it('a dialog about a run stays open while newer runs push the run out of the list', async () => {
    const { id: workflowId } = await createWorkflow('Many', { variables: ['N'] });
    const { jobId } = (await api.post('/api/jobs/launch', { agentId: silentId, workflowId, variables: { N: '0' } }))
      .body;
    const tab = await fixture.openSignedInTab('/app/runs');
    const { page } = tab;
    await page.getByRole('button', { name: `Actions for run ${jobId.slice(-8)}` }).click();
    const item = page.getByRole('menuitem', { name: 'Cancel run' });
    await item.waitFor();
    const rows = Array.from({ length: 80 }, (_, n) => ({ N: String(n + 1) }));
    const refreshed = page.waitForResponse(
      async (answer) => /\/api\/jobs\?/.test(answer.url()) && (await answer.json()).jobs?.length > 80,
    );
    expect((await api.post('/api/jobs/batch', { workflowId, agentIds: [silentId], rows })).status).toBe(202);
    await refreshed;
    await item.click();
    const dialog = page.getByRole('dialog', { name: 'Cancel this run?' });
    await dialog.waitFor();
    // The run no longer matches the filter of the list either.
    await api.post(`/api/jobs/${jobId}/cancel`, {});
    await page.waitForResponse((answer) => /\/api\/jobs\?/.test(answer.url()));
    await dialog.getByRole('button', { name: 'Go back' }).click();
    await dialog.waitFor({ state: 'detached' });
    // After the dialog is closed, the list is up to date.
    await page.getByRole('row').nth(1).getByText('queued').waitFor();
    await page.getByRole('button', { name: `Actions for run ${jobId.slice(-8)}` }).waitFor({ state: 'detached' });
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('a new name that a user is typing stays in its field even if the agent no longer matches the filter', async () => {
    const tab = await fixture.openSignedInTab('/app/agents?status=online');
    const { page } = tab;
    await page.getByRole('button', { name: 'Actions for Demo agent' }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByLabel('Name').fill('Front');
    const refreshed = page.waitForResponse(
      async (answer) => answer.url().includes('status=online') && (await answer.json()).agents.length === 0,
    );
    await api.post(`/api/agents/${demoId}/drain`, { mode: 'finish' });
    await refreshed;
    await page.keyboard.type(' desk');
    expect(await page.getByLabel('Name').inputValue()).toBe('Front desk');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('status').filter({ hasText: 'is now Front desk' }).waitFor();
    await page.getByText('No agents match the filters.').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await waitFor('the old name', async () => (await api.get(`/api/agents/${demoId}`)).body.name === 'Demo agent');
    await api.post(`/api/agents/${demoId}/undrain`);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('text that is typed while a workflow is being saved is kept', async () => {
    const { id } = await createWorkflow('Written on');
    const tab = await fixture.openSignedInTab(`/app/workflows/${id}`);
    const { page } = tab;
    let releaseSaveAnswer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      releaseSaveAnswer = resolve;
    });
    await page.route('**/save', async (route) => {
      await held;
      await route.continue();
    });
    const script = page.getByRole('textbox', { name: 'Script' });
    await script.click();
    await page.locator('.cm-content').waitFor();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('print("one")\n');
    const save = page.getByRole('button', { name: 'Save', exact: true });
    await save.click();
    await script.click();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('print("two")\n');
    await page.getByLabel('Names of variables').fill('PAYER');
    releaseSaveAnswer();
    await page.getByRole('status').filter({ hasText: 'Saved as revision 2.' }).waitFor();
    expect(await script.innerText()).toContain('print("two")');
    expect(await page.getByLabel('Names of variables').inputValue()).toBe('PAYER');
    await save.click();
    await page.getByRole('status').filter({ hasText: 'Saved as revision 3.' }).waitFor();
    expect((await api.get(`/api/workflows/${id}`)).body).toMatchObject({
      script: 'print("hello")\nprint("one")\nprint("two")\n',
      variables: ['PAYER'],
    });
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the edit of a workflow step changes the right step even if other steps were removed in the meantime', async () => {
    const { id } = await createWorkflow('Steps', { script: '' });
    const buildGotoStep = (name: string) => ({ id: name, type: 'goto', url: `https://example.com/${name}` });
    const saved = await api.post(`/api/workflows/${id}/save`, {
      script: '',
      steps: ['a', 'b', 'c'].map(buildGotoStep),
    });
    expect(saved.status).toBe(200);
    const tab = await fixture.openSignedInTab(`/app/workflows/${id}`);
    const { page } = tab;
    await page.getByRole('button', { name: 'Actions for step 2' }).click();
    await page.getByRole('menuitem', { name: 'Edit' }).click();
    const dialog = page.getByRole('dialog', { name: 'Edit step b' });
    await dialog.getByLabel('URL').fill('https://example.com/changed');
    await api.post(`/api/workflows/${id}/save`, { script: '', steps: ['b', 'c'].map(buildGotoStep) });
    // The page refetches all its data when the connection is restored.
    await page.context().setOffline(true);
    await page.getByText('the connection is lost').waitFor();
    await page.context().setOffline(false);
    await waitFor('the other revision', async () => (await page.getByTestId('workflow-step').count()) === 2);
    await dialog.getByRole('button', { name: 'Apply' }).click();
    await page.getByTestId('workflow-step').nth(0).getByText('changed').waitFor();
    await page.getByTestId('workflow-step').nth(1).getByText('example.com/c').waitFor();
    await tab.close();
  });

  it('a page keeps working if a script does not load, and reloads if the service has a newer build', async () => {
    const { id } = await createWorkflow('Parts', { script: 'print("hello")\n' });
    const tab = await fixture.openSignedInTab('/app/workflows');
    const { page } = tab;
    await page.route('**/code-mirror-*.js', (route) => route.abort('internetdisconnected'));
    const failedRequest = page.waitForEvent('requestfailed', (request) => request.url().includes('/code-mirror-'));
    await page.goto(page.url().replace('/app/workflows', `/app/workflows/${id}`));
    const names = page.getByLabel('Names of variables');
    await names.fill('PAYER');
    await failedRequest;
    await page.getByRole('textbox', { name: 'Script' }).fill('print("typed")\n');
    expect(await names.inputValue()).toBe('PAYER');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('status').filter({ hasText: 'Saved as revision 2.' }).waitFor();

    let loads = 0;
    await page.route('**/app/', (route) =>
      route.fulfill({ body: '<script type="module" src="/app/newer.js"></script>' }),
    );
    page.on('load', () => (loads += 1));
    await page.reload();
    await waitFor('the page loaded once more', () => loads === 2);
    await tab.close();
  });

  it('no typed character is lost while the code editor replaces the plain text field', async () => {
    const { id } = await createWorkflow('Typed', { script: 'print(1)\n' });
    const tab = await fixture.openSignedInTab('/app/workflows');
    const { page } = tab;
    await page.route('**/code-mirror-*.js', (route) => setTimeout(() => void route.continue(), 300));
    await page.goto(page.url().replace('/app/workflows', `/app/workflows/${id}`));
    const typed = 'abcdefghijklmnopqrstuvwxyz'.repeat(20);
    await page.getByRole('textbox', { name: 'Script' }).click();
    await page.keyboard.press('Control+a');
    for (const key of typed) await page.keyboard.insertText(key);
    await page.locator('.cm-editor').waitFor();
    await page.keyboard.insertText('.');
    expect((await page.locator('.cm-line').allInnerTexts()).join('')).toBe(`${typed}.`);
    await tab.close();
  });

  it('typed labels of an agent are saved without undoing another user’s change of its name', async () => {
    const { agent } = (await api.post('/api/agents', { name: 'Lab', provider: 'external', labels: ['old'] })).body;
    const tab = await fixture.openSignedInTab(`/app/agents/${agent.id}?tab=settings`);
    const { page } = tab;
    const labels = page.getByLabel('Labels', { exact: true });
    await labels.fill('old, new');
    await api.patch(`/api/agents/${agent.id}`, { name: 'Laboratory' });
    await page.getByRole('heading', { level: 1, name: 'Laboratory' }).waitFor();
    await page.getByText('Another user has changed this agent').waitFor();
    expect(await labels.inputValue()).toBe('old, new');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('status').filter({ hasText: 'Saved.' }).waitFor();
    expect((await api.get(`/api/agents/${agent.id}`)).body).toMatchObject({
      name: 'Laboratory',
      labels: ['old', 'new'],
    });
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Laboratory');
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('a run is launched on the chosen agent or not at all', async () => {
    const { id } = await createWorkflow('Chosen');
    const { agent } = (await api.post('/api/agents', { name: 'Chosen one', provider: 'external' })).body;
    const tab = await fixture.openSignedInTab(`/app/workflows/${id}`);
    const { page } = tab;
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    const choice = page.getByRole('dialog').getByLabel('Agent');
    await choice.selectOption({ label: 'Chosen one (offline)' });
    const refreshed = page.waitForResponse(
      async (answer) => /\/api\/agents\?/.test(answer.url()) && !(await answer.text()).includes(agent.id),
    );
    // Terminated agents are not listed.
    await api.post(`/api/agent/${agent.id}/action`, { action: 'terminate' });
    await api.delete(`/api/agents/${agent.id}`);
    await refreshed;
    expect(await choice.inputValue()).toBe(agent.id);
    await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
    // The launch is refused, and no run is created on another agent.
    await page.getByRole('dialog').getByRole('alert').waitFor();
    expect((await api.get(`/api/jobs?workflowId=${id}`)).body.jobs).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('a schedule that was created and deleted can be created again', async () => {
    await createWorkflow('Planned twice');
    const tab = await fixture.openSignedInTab('/app/schedules');
    const { page } = tab;
    const planScheduleOnPage = async () => {
      await page.getByRole('button', { name: 'New schedule' }).click();
      const dialog = page.getByRole('dialog', { name: 'New schedule' });
      await dialog.getByLabel('Name', { exact: true }).fill('Twice');
      await dialog.getByLabel('Workflow').selectOption({ label: 'Planned twice' });
      await dialog.getByRole('button', { name: 'Create schedule' }).click();
      await dialog.waitFor({ state: 'detached' });
    };
    const row = page.getByRole('link', { name: 'Twice', exact: true });
    await planScheduleOnPage();
    await row.waitFor();
    const [first] = (await api.get('/api/schedules?q=Twice')).body.schedules;
    await page.getByRole('button', { name: 'Actions for Twice' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await row.waitFor({ state: 'detached' });
    await planScheduleOnPage();
    await row.waitFor();
    const [second] = (await api.get('/api/schedules?q=Twice')).body.schedules;
    expect(second.id).not.toBe(first.id);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('a run is replayed once if the button is double-clicked', async () => {
    const { id: workflowId } = await createWorkflow('Pressed');
    const { jobId } = (await api.post('/api/jobs/launch', { agentId: demoId, workflowId })).body;
    const tab = await fixture.openSignedInTab(`/app/runs/${jobId}`);
    const { page } = tab;
    await page.getByRole('button', { name: 'Replay' }).dblclick({ delay: 5 });
    await page.waitForURL((url) => !url.pathname.endsWith(jobId));
    expect((await api.get(`/api/jobs?workflowId=${workflowId}`)).body.jobs).toHaveLength(2);
    await tab.close();
  });

  it('typed text is not carried over to the page of another agent', async () => {
    const { agent } = (await api.post('/api/agents', { name: 'Reception', provider: 'external' })).body;
    const tab = await fixture.openSignedInTab(`/app/agents/${agent.id}`);
    const { page } = tab;
    const waitForHeading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
    const openByPalette = async (id: string) => {
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').getByRole('combobox').fill(id);
      await page.getByRole('option').first().waitFor();
      await page.keyboard.press('Enter');
    };
    await waitForHeading('Reception');
    // Visits both agents first, so that both are in the cache.
    await openByPalette(demoId);
    await waitForHeading('Demo agent');
    await openByPalette(agent.id);
    await waitForHeading('Reception');
    await page.getByRole('button', { name: 'Actions for Reception' }).click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByLabel('Name').fill('Reception 2');
    await openByPalette(demoId);
    await waitForHeading('Demo agent');
    expect(await page.getByLabel('Name').count()).toBe(0);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('a page starts at its top, and keeps its scroll position when a filter changes', async () => {
    const tab = await fixture.openSignedInTab('/app/costs', { height: 500 });
    const { page } = tab;
    await page.getByText('All figures and their definitions').waitFor();
    const readScrollPosition = () => page.evaluate<number>('document.querySelector("#content").scrollTop');
    await page.evaluate('document.querySelector("#content").scrollTo(0, 120)');
    await page.getByLabel('Group by', { exact: true }).selectOption('agent');
    await page.waitForURL(/groupBy=agent/);
    expect(await readScrollPosition()).toBe(120);
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
    await page.getByLabel('Timezone').waitFor();
    expect(await readScrollPosition()).toBe(0);
    await tab.close();
  });

  it('the page of costs sends no request for a date until its year is typed completely', async () => {
    const tab = await fixture.openSignedInTab('/app/costs');
    const { page } = tab;
    await page.getByText('All figures and their definitions').waitFor();
    const displayed = await page.getByLabel('From').inputValue();
    const requestedDates: string[] = [];
    page.on('request', (request) => {
      const url = new URL(request.url());
      // The page may repeat requests for the date that it displays, so they are ignored.
      const from = url.searchParams.get('from') ?? '';
      if (url.pathname.startsWith('/api/costs') && from !== displayed) requestedDates.push(from);
    });
    const year = new Date().getFullYear();
    await page.getByLabel('From').focus();
    await page.keyboard.type(`0101${year}`, { delay: 30 });
    await page.waitForURL(new RegExp(`from=${year}-01-01`));
    await waitFor('the answer', () => requestedDates.length > 0);
    expect(new Set(requestedDates)).toEqual(new Set([`${year}-01-01`]));
    expect(await page.getByRole('alert').count()).toBe(0);
    await tab.close();
  });

  it('a dialog with typed text or a new key stays open when the user clicks outside', async () => {
    const tab = await fixture.openSignedInTab('/app/agents');
    const { page } = tab;
    const dialog = page.getByRole('dialog', { name: 'New agent' });
    const clickOutside = () => page.mouse.click(5, 5);
    await page.getByRole('button', { name: 'New agent' }).click();
    await dialog.waitFor();
    await clickOutside();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'New agent' }).click();
    await dialog.getByLabel('Name').fill('Kept');
    await clickOutside();
    await dialog.getByRole('button', { name: 'Create agent' }).click();
    await dialog.getByText(/^msk_/).waitFor();
    await clickOutside();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});
