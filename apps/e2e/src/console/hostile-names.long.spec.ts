// This test is long because it opens every page in a browser.
// A short test of the same code: apps/e2e/src/console/stories.spec.ts
import { type HttpClient, waitFor } from '@muster/testing';
import type { ConsoleTab } from './console-browser';
import { ConsoleFixture, describeInBrowser } from './console-fixture';
import { findDisplayFaults, makeHostileText } from './strange-content';

jest.setTimeout(480_000);

const email = `{{1337*1337}}'\${1337*1337}-${'w'.repeat(30)}@example.com`;

/** Questions of each kind, which a script asks at the same time. */
const questions = [
  {
    question: makeHostileText('Question'),
    kind: 'choice',
    choices: [makeHostileText('Choice'), makeHostileText('Other')],
  },
  {
    question: makeHostileText('Question'),
    kind: 'text',
    context: { [makeHostileText('Context')]: makeHostileText('Value') },
  },
  {
    question: makeHostileText('Question'),
    kind: 'form',
    fields: [
      { name: makeHostileText('Field'), label: makeHostileText('Label') },
      { name: 'choice', label: makeHostileText('Label'), type: 'choice', choices: [makeHostileText('Choice')] },
      { name: 'flag', label: makeHostileText('Flag'), type: 'boolean' },
    ],
  },
  { question: makeHostileText('Question'), kind: 'confirm', to: [`${email}\u202Egpj.`] },
];
const askAll = `
threads = [threading.Thread(target=lambda ask=ask: muster.ask(**ask, timeout="1h")) for ask in asks]
[thread.start() for thread in threads]
[thread.join() for thread in threads]`;

describeInBrowser('hostile names', () => {
  let fixture: ConsoleFixture;
  let api: HttpClient;
  const paths: string[] = [];
  let filmedPath: string;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
    api = await fixture.createApiClient();
    const root = await fixture.createApiClient(fixture.superAdmin);
    const sendSuccessfully = async (method: 'post' | 'patch' | 'put', path: string, body: object, by = api) => {
      const answer = await by[method](path, body);
      if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
      return answer.body;
    };
    const [agent] = (await api.get('/api/agents')).body.agents;
    const [workflow] = (await api.get('/api/workflows')).body.workflows;
    const { id: organizationId } = (await api.get('/api/auth/me')).body.organization;
    await sendSuccessfully(
      'patch',
      `/api/admin/organizations/${organizationId}`,
      { name: makeHostileText('Organization') },
      root,
    );
    await sendSuccessfully('patch', `/api/agents/${agent.id}`, {
      name: makeHostileText('Agent'),
      labels: [makeHostileText('Label').slice(0, 64)],
    });
    await sendSuccessfully('patch', `/api/workflows/${workflow.id}`, {
      name: makeHostileText('Workflow'),
      description: makeHostileText('About'),
    });
    const launchInput = {
      workflowId: workflow.id,
      agentId: agent.id,
      variables: { GREETING: makeHostileText('Variable') },
    };
    const failing = {
      name: makeHostileText('Failing'),
      variables: ['GREETING'],
      script: `raise SystemExit(${quoteHostileText('Cause')})`,
    };
    const { id: failingId } = await sendSuccessfully('post', '/api/workflows', failing);
    const { jobId } = await sendSuccessfully('post', '/api/jobs/launch', { ...launchInput, workflowId: failingId });
    const { batchId } = await sendSuccessfully('post', '/api/jobs/batch', {
      ...{ workflowId: workflow.id, agentIds: [agent.id], rows: [launchInput.variables, launchInput.variables] },
    });
    await sendSuccessfully('post', `/api/batches/${batchId}/cancel`, { reason: makeHostileText('Reason') });
    const schedule = await sendSuccessfully('post', '/api/schedules', {
      ...{ name: makeHostileText('Schedule'), cronExpression: '0 3 * * *', timezone: 'UTC' },
      ...{ agentId: agent.id, scriptId: workflow.id, variables: launchInput.variables },
    });
    await sendSuccessfully('put', '/api/process-library/claims.hostile', {
      name: makeHostileText('Process'),
      description: makeHostileText('About'),
    });
    // Steps from a video: their titles are read from the film, and each waits for a review.
    const filmed = ['Step', 'Other step'].map((kind, at) => ({
      ...{
        id: at ? makeHostileText('Id') : 'first',
        type: 'click',
        title: at ? 'W'.repeat(10_000) : makeHostileText(kind),
        text: makeHostileText('Text'),
      },
      ...{
        selector: `=1+1\u0007\u001b[31m${makeHostileText('Selector')}`,
        confidence: 0.4,
        atMs: 61_000,
        review: 'needed',
      },
    }));
    const { id: filmedId } = await sendSuccessfully('post', '/api/workflows', {
      name: makeHostileText('Filmed'),
      steps: filmed,
    });
    await sendSuccessfully('post', `/api/workflows/${filmedId}/save`, {
      steps: [{ ...filmed[0], text: 'x' }, filmed[1]],
    });
    filmedPath = `/app/workflows/${filmedId}`;
    const pack = await sendSuccessfully('post', '/api/workflow-packs', {
      ...{ workerKey: 'claims.hostile', name: makeHostileText('Pack'), description: makeHostileText('About') },
    });
    await sendSuccessfully('post', '/api/users', { email, password: 'a good password', role: 'member' });
    await sendSuccessfully('post', '/api/api-keys', { name: makeHostileText('Key'), scope: 'api' });
    const query = encodeURIComponent(makeHostileText('Webhook'));
    await sendSuccessfully('post', '/api/webhook-endpoints', {
      url: `https://hooks.example.com/?${query}`,
      events: ['*'],
    });
    await sendSuccessfully('post', '/api/functions', {
      ...{ name: 'hostile', description: makeHostileText('Function'), parameters: {}, code: 'print(1)' },
    });
    const askingWorkflow = {
      name: makeHostileText('Asking'),
      script: [
        'import json, muster, threading',
        `asks = json.loads(${JSON.stringify(JSON.stringify(questions))})`,
        askAll,
      ].join('\n'),
    };
    const { id: askingId } = await sendSuccessfully('post', '/api/workflows', askingWorkflow);
    const { jobId: askingJobId } = await sendSuccessfully('post', '/api/jobs/launch', {
      agentId: agent.id,
      workflowId: askingId,
    });
    await waitFor(
      'the questions to be open',
      async () => (await api.get('/api/questions?status=open')).body.questions.length === questions.length,
      120_000,
    );
    await waitFor(
      'the end of the run',
      async () => (await api.get(`/api/jobs/${jobId}`)).body.status === 'failed',
      120_000,
    );
    paths.push(
      `/app/agents/${agent.id}`,
      `/app/runs/${jobId}`,
      `/app/runs/${askingJobId}`,
      `/app/runs?batchId=${batchId}`,
      `/app/workflows/${workflow.id}`,
      filmedPath,
      `/app/schedules/${schedule.id}`,
      `/app/packs/${pack.id}`,
    );
  });
  afterAll(() => fixture?.end());

  const quoteHostileText = (kind: string) => JSON.stringify(makeHostileText(kind));

  const waitUntilPageLoaded = async ({ page }: ConsoleTab) => {
    const heading = page.getByRole('heading', { level: 1 });
    // A dialog that opens after Escape was pressed hides the heading.
    await waitFor('the page without a dialog', async () => {
      if ((await page.getByRole('dialog').count()) > 0) await page.keyboard.press('Escape');
      return heading.isVisible();
    });
    await waitFor('the content to load', async () => (await page.getByLabel('Loading').count()) === 0);
  };

  /** Chooses each action of the page's first menu, and checks the dialog or the status message that follows. */
  const checkDialogs = async (tab: ConsoleTab, path: string, checkPage: (label: string) => Promise<void>) => {
    const { page } = tab;
    const menu = page.getByRole('main').getByRole('button', { name: /^Actions/ });
    const openMenuAndListActions = async () => {
      await menu.first().click();
      return page.getByRole('menuitem').all();
    };
    if ((await menu.count()) === 0) return;
    const { length } = await openMenuAndListActions();
    await page.keyboard.press('Escape');
    for (let index = 0; index < length; index += 1) {
      const action = (await openMenuAndListActions())[index]!;
      const name = await action.innerText();
      await checkPage(`${path}, menu`);
      if ((await action.getAttribute('aria-disabled')) === 'true') {
        await page.keyboard.press('Escape');
        continue;
      }
      await action.click();
      const answer = page.getByRole('dialog').or(page.getByRole('status').filter({ hasText: /./ }));
      await answer
        .first()
        .waitFor({ timeout: 5000 })
        .catch(() => undefined);
      await checkPage(`${path}, ${name}`);
      await page.keyboard.press('Escape');
      const isElsewhere = !page.url().endsWith(path) || (await page.getByRole('dialog').count()) > 0;
      if (isElsewhere) await tab.goto(path);
      await waitUntilPageLoaded(tab);
    }
  };

  it.each([1440, 390])('hostile names run no code, reverse no text and overflow no page at %d px', async (width) => {
    const tab = await fixture.openSignedInTab('/app', { width });
    const { page } = tab;
    const dialogs: string[] = [];
    page.on('dialog', (dialog) => {
      // A page with unsaved changes, such as a removed step, asks the user for a confirmation before the user leaves
      // it.
      if (dialog.type() === 'beforeunload') return void dialog.accept();
      dialogs.push(dialog.message());
      void dialog.dismiss();
    });
    const links = await page.getByRole('navigation', { name: 'Main' }).getByRole('link').all();
    const hrefs = await Promise.all(links.map((link) => link.getAttribute('href')));
    const found: Record<string, string[]> = {};
    const checkPage = async (label: string) => {
      const faults = await findDisplayFaults(tab);
      if (faults.length) found[label] = faults;
    };
    for (const path of [...hrefs.map((each) => each!), ...paths]) {
      await tab.goto(path);
      await waitUntilPageLoaded(tab);
      await checkPage(path);
      if (width > 1000) await checkDialogs(tab, path, checkPage);
      for (const part of await page.getByRole('tab').all()) {
        await part.click();
        await waitUntilPageLoaded(tab);
        await checkPage(`${path} ${await part.innerText()}`);
      }
    }
    await tab.goto('/app');
    await waitUntilPageLoaded(tab);
    for (const [q, kind] of [
      ['Agent', /agent/],
      ['Workflow', /workflow/],
      ['1337', /run/],
    ] as const) {
      await page.keyboard.press('ControlOrMeta+k');
      await page.getByRole('dialog').getByRole('combobox').fill(q);
      await page.getByRole('option').filter({ hasText: kind }).first().waitFor();
      await checkPage(`search dialog with ${q}`);
      await page.keyboard.press('Escape');
    }
    expect(found).toEqual({});
    expect([dialogs, tab.complaints]).toEqual([[], []]);
    await tab.close();
  });

  it('the revisions of a workflow show characters that reverse the text direction as escapes', async () => {
    const tab = await fixture.openSignedInTab(filmedPath);
    await tab.page.getByRole('button', { name: 'Revisions' }).click();
    await tab.page.getByRole('button', { name: 'Compare' }).first().click();
    const differences = tab.page.getByLabel(/^Differences from revision/);
    await differences.waitFor();
    const text = await differences.innerText();
    expect([text.includes('\\u202egpj.'), text.includes('\u202e')]).toEqual([true, false]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('hostile names of organizations run no code, reverse no text and overflow no page of a super admin', async () => {
    const tab = await fixture.openSignedInTab('/app/admin', { width: 390 }, fixture.superAdmin);
    await waitUntilPageLoaded(tab);
    await tab.page.getByText(makeHostileText('Organization').slice(0, 12)).first().waitFor();
    expect(await findDisplayFaults(tab)).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});
