// This test is long because it opens each list in a browser.
// A short test of the same code: apps/e2e/src/console/stories.spec.ts
import { randomUUID } from 'node:crypto';
import { type HttpClient, waitFor } from '@muster/testing';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(240_000);

/** The pages with lists, and the names of their search boxes. */
const searched = [
  ['/app/agents', 'Search agents'],
  ['/app/runs', 'Search runs'],
  ['/app/workflows', 'Search workflows'],
  ['/app/schedules', 'Search schedules'],
  ['/app/packs', 'Search packs'],
  ['/app/autopilot', 'Search sessions'],
  ['/app/feedback', 'Search reports'],
  ['/app/queues', 'Search dead letters'],
  ['/app/settings?part=Users', 'Search users'],
  ['/app/settings?part=API+keys', 'Search API keys'],
  ['/app/settings?part=Vault', 'Search secrets'],
  ['/app/settings?part=Webhooks', 'Search endpoints'],
  ['/app/settings?part=Audit', 'Search the audit log'],
  ['/app/admin', 'Search organizations'],
] as const;

describeInBrowser('lists and the links to them', () => {
  let fixture: ConsoleFixture;
  let api: HttpClient;
  let agentId: string;
  let organizationId: string;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
    api = await fixture.createApiClient();
    agentId = (await api.get('/api/agents')).body.agents[0].id;
    organizationId = (await api.get('/api/auth/me')).body.organization.id;
  });
  afterAll(() => fixture?.end());

  it('each list has a search box that a key focuses and that keeps its text in the URL', async () => {
    const tab = await fixture.openSignedInTab('/app', undefined, fixture.superAdmin);
    const { page } = tab;
    for (const [path, name] of searched) {
      await tab.goto(path);
      const box = page.getByRole('searchbox', { name });
      await box.waitFor();
      await page.keyboard.press('/');
      await page.keyboard.type('no such name');
      await waitFor(
        `the search in the URL of ${path}`,
        () => new URL(page.url()).searchParams.get('q') === 'no such name',
      );
      await waitFor('the search result', async () => (await page.getByLabel('Loading').count()) === 0);
      expect([path, await page.getByRole('alert').count()]).toEqual([path, 0]);
    }
    // The navigation link to the same page removes the search, and the box is empty.
    await tab.goto('/app/runs?q=nothing');
    await page.getByText('No matching runs.').waitFor();
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Runs' }).click();
    await page.getByRole('row').nth(1).waitFor();
    expect(await page.getByRole('searchbox').inputValue()).toBe('');
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('lists are filtered by status, such as paused schedules', async () => {
    const { id: scriptId } = (await api.post('/api/workflows', { name: 'Nightly', script: 'print(1)' })).body;
    for (const enabled of [true, false]) {
      const name = enabled ? 'Is enabled' : 'Is paused';
      await api.post('/api/schedules', { name, scriptId, agentId, cronExpression: '0 3 * * *', enabled });
    }
    const tab = await fixture.openSignedInTab('/app/schedules');
    const { page } = tab;
    await page.getByLabel('Status').selectOption('disabled');
    await page.getByRole('link', { name: 'Is enabled' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Is paused' }).waitFor();
    expect(new URL(page.url()).search).toBe('?enabled=false');
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the list of agents shows the cost of each agent, and pins several agents at once', async () => {
    const other = (await api.post('/api/agents', { name: 'Other', provider: 'external' })).body.agent.id;
    const tab = await fixture.openSignedInTab('/app/agents');
    const { page } = tab;
    await page.getByRole('columnheader', { name: 'Cost' }).waitFor();
    await page
      .getByRole('row', { name: /Demo agent/ })
      .getByText(/^\$/)
      .waitFor();
    await page.getByRole('checkbox', { name: 'Select all loaded rows' }).check();
    await page.getByRole('button', { name: 'Pin', exact: true }).click();
    await page.getByRole('status').filter({ hasText: 'Pin requested for 2 of 2 agents.' }).waitFor();
    for (const id of [agentId, other]) {
      expect((await api.get(`/api/agents/${id}`)).body.idleAutoStopExempt).toBe(true);
    }
    // Unpins one agent, and undoes the change.
    await page.getByRole('button', { name: 'Actions for Other' }).click();
    await page.getByRole('menuitem', { name: 'Unpin' }).click();
    await page.getByRole('status').filter({ hasText: 'Other is no longer pinned.' }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await waitFor('the pin', async () => (await api.get(`/api/agents/${other}`)).body.idleAutoStopExempt === true);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it.each([1440, 390])(
    'a run of a workflow with a long name shows its whole subject in the list, %d px wide',
    async (width) => {
      const [name, subject] = [`Narratives of ${width} for ${'denied '.repeat(12)}claims`, `C-${width}`];
      const workflow = { name, variables: ['CLAIM'], script: 'print("done")\n' };
      const { id } = (await api.post('/api/workflows', workflow)).body;
      const run = { workflowId: id, agentId, variables: { CLAIM: subject } };
      expect((await api.post('/api/jobs/launch', run)).status).toBe(202);
      const tab = await fixture.openSignedInTab(`/app/runs?workflowId=${id}`, { width });
      const link = tab.page.getByRole('link', { name: `${name} · ${subject}` });
      const part = link.getByText(subject, { exact: true });
      // The text is not cut off, neither by its own element nor by the link, which the cell limits.
      expect(await part.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth)).toBe(true);
      const [inner, outer] = [(await part.boundingBox())!, (await link.boundingBox())!];
      expect(inner.x + inner.width).toBeLessThanOrEqual(outer.x + outer.width + 1);
      expect(await tab.measureOverflow()).toBe(0);
      expect(tab.complaints).toEqual([]);
      await tab.close();
    },
  );

  it('the home page links to the list of dead letters, if the user may see them', async () => {
    await fixture.queryDatabase(
      `INSERT INTO outbox (id, queue, name, payload, organization_id, next_publish_at, attempts)
       VALUES ($1, 'dispatch', 'dispatch-agent', '{}', $2, NULL, 5)`,
      [randomUUID(), organizationId],
    );
    const tab = await fixture.openSignedInTab('/app');
    const { page } = tab;
    await page.getByRole('link', { name: '1 dead letter' }).click();
    await page.getByRole('heading', { level: 1, name: 'Queues' }).waitFor();
    await page.getByRole('row', { name: /dispatch-agent/ }).waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
    const viewer = await fixture.openSignedInTab('/app', undefined, await fixture.inviteUser('viewer'));
    await viewer.page.getByRole('region', { name: 'Needs attention' }).waitFor();
    await waitFor('the content to load', async () => (await viewer.page.getByLabel('Loading').count()) === 0);
    expect(await viewer.page.getByText('dead letter').count()).toBe(0);
    expect(viewer.complaints).toEqual([]);
    await viewer.close();
  });

  it('the home page links to the lists of agents, also for more agents than one API page holds', async () => {
    const name = 'ZZ the last agent';
    await fixture.queryDatabase(
      `INSERT INTO agent (id, organization_id, name, status, provider)
       SELECT gen_random_uuid(), $1, CASE WHEN n = 450 THEN $2 ELSE 'Machine ' || n END,
              CASE WHEN n = 450 THEN 'offline' ELSE 'stopped' END, 'external'
       FROM generate_series(1, 450) n`,
      [organizationId, name],
    );
    const tab = await fixture.openSignedInTab('/app');
    const { page } = tab;
    await page.getByRole('region', { name: 'Machines' }).getByRole('link', { name: '449 stopped' }).waitFor();
    const unconnected = /^\d+ offline never connected$/;
    await page.getByRole('region', { name: 'Machines' }).getByRole('link', { name: unconnected }).waitFor();
    await page.getByRole('region', { name: 'Needs attention' }).getByRole('link', { name }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await tab.close();
    await fixture.queryDatabase(`DELETE FROM agent WHERE name = $1 OR name LIKE 'Machine %'`, [name]);
  });

  it('the home page links to runs that failed today, also if they were queued days ago', async () => {
    const [late, old] = [randomUUID(), randomUUID()];
    for (const [id, endedAgo] of [
      [late, '1 minute'],
      [old, '26 hours'],
    ] as const) {
      await fixture.queryDatabase(
        `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, status, queued_at, started_at,
                          finished_at, error)
         SELECT $1, organization_id, workflow_id, workflow_revision, agent_id, 'failed', now() - interval '40 hours',
                now() - interval '30 hours', now() - $3::interval, 'ended ' || $3
         FROM job WHERE organization_id = $2 LIMIT 1`,
        [id, organizationId, endedAgo],
      );
    }
    const tab = await fixture.openSignedInTab('/app');
    const { page } = tab;
    const locateRunLink = (id: string) => page.locator(`a[href$="/runs/${id}"]`);
    await locateRunLink(late).waitFor();
    expect(await locateRunLink(old).count()).toBe(0);
    await tab.goto('/app/queues');
    await page.getByRole('definition').filter({ hasText: /^1$/ }).getByRole('link').last().click();
    await page.waitForURL((url) => url.search === '?sort=-finishedAt&status=failed');
    await page.getByRole('row').nth(1).locator(locateRunLink(late)).waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('a list shows a failed request with a button to try again, also on the home page', async () => {
    const tab = await fixture.openSignedInTab('/app');
    const { page } = tab;
    await page.route(/\/api\/(usage|costs)/, (route) =>
      route.fulfill({ status: 503, json: { code: 'service_unavailable' } }),
    );
    await page.reload();
    const attention = page.getByRole('region', { name: 'Needs attention' });
    await attention.getByRole('alert').filter({ hasText: 'service_unavailable' }).waitFor();
    await page.unroute(/\/api\/(usage|costs)/);
    await attention.getByRole('button', { name: 'Try again' }).click();
    await attention.getByRole('alert').waitFor({ state: 'detached' });
    await tab.close();
  });

  it('an id in the search dialog opens its resource without a list', async () => {
    const tab = await fixture.openSignedInTab('/app');
    const { page } = tab;
    const [run] = (await api.get('/api/jobs?limit=1')).body.jobs;
    for (const [id, path] of [
      [agentId, `/app/agents/${agentId}`],
      [run.workflowId, `/app/workflows/${run.workflowId}`],
      [run.id, `/app/runs/${run.id}`],
      [run.id.slice(-8), `/app/runs/${run.id}`],
    ]) {
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').getByRole('combobox').fill(id!);
      await page.getByRole('option').first().waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL((url) => url.pathname === path);
    }
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('a list loads the next page that a user has requested, also if a change refetches the first page', async () => {
    const names = Array.from({ length: 101 }, (_, at) => `LISTED_${String(at).padStart(3, '0')}`);
    for (const name of names) await api.put(`/api/vault/${name}`, { value: 'a secret value' });
    const tab = await fixture.openSignedInTab('/app/settings?part=Vault&q=LISTED');
    const { page } = tab;
    await page.getByText(names[99]!).waitFor();
    let isCancelled = false;
    let isHeld = false;
    await page.route(/\/api\/vault\?.*cursor=/, async (route) => {
      if (isHeld) return route.continue();
      // The first request for the page is never answered: the page itself cancels it.
      isHeld = true;
    });
    page.on('requestfailed', (request) => (isCancelled ||= request.url().includes('cursor=')));
    await page.getByRole('button', { name: 'Show more' }).click();
    await waitFor('the request for the next page', () => isHeld);
    await page.getByRole('button', { name: 'New secret' }).click();
    const dialog = page.getByRole('dialog', { name: 'New secret' });
    await dialog.getByLabel('Name').fill('LISTED_050_A');
    await dialog.getByLabel('Value').fill('a secret value');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('LISTED_050_A').waitFor();
    expect(isCancelled).toBe(true);
    await page.getByText(names[100]!).waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the search of a list continues over pages without a match but not after a failed request', async () => {
    const endpoint = await api.post('/api/webhook-endpoints', { url: 'https://example.com/told', events: ['*'] });
    const endpointId = endpoint.body.id ?? endpoint.body.webhookEndpoint.id;
    const far = '00000000-0000-7000-8000-0000feedbeef';
    // The id `far` is below all random ids, so its row is the oldest; a single response does not search that far.
    await fixture.queryDatabase(
      `INSERT INTO webhook_event (id, organization_id, type, subject_id, sequence, body, fanned_out_at)
       SELECT CASE n WHEN 0 THEN $2::uuid ELSE gen_random_uuid() END, $1, 'job.completed', $2, n, '{}', now()
       FROM generate_series(0, 6000) n`,
      [organizationId, far],
    );
    await fixture.queryDatabase(
      `INSERT INTO webhook_delivery (id, organization_id, endpoint_id, event_id, type, status, due_at)
       SELECT id, organization_id, $1, id, type, CASE id WHEN $2 THEN 'dead' ELSE 'delivered' END, now()
       FROM webhook_event WHERE subject_id = $2`,
      [endpointId, far],
    );
    await fixture.queryDatabase(
      `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, status, finished_at)
       SELECT CASE n WHEN 0 THEN $1::uuid ELSE overlay(gen_random_uuid()::text PLACING '0a1b2c3d' FROM 29)::uuid END,
              organization_id, workflow_id, workflow_revision, agent_id, 'cancelled', now()
       FROM (SELECT * FROM job WHERE organization_id = $2 LIMIT 1) run, generate_series(0, 6000) n`,
      [far, organizationId],
    );
    const tab = await fixture.openSignedInTab(`/app/settings?part=Webhooks&endpoint=${endpointId}&status=dead`);
    const { page } = tab;
    await page.getByTestId('webhook-delivery').getByText('dead').waitFor();
    expect(await page.getByText('No matching deliveries.').count()).toBe(0);
    // A run is found by the end of its id, even if it is old.
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').fill('feedbeef');
    await page.getByRole('option', { name: /run feedbeef, cancelled/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.pathname === `/app/runs/${far}`);
    let requests = 0;
    await page.route(/\/api\/jobs\?.*cursor=/, (route) => {
      requests += 1;
      return route.fulfill({ status: 500, json: { code: 'internal_error' } });
    });
    await tab.goto('/app/runs?q=feedbeef');
    await page.getByRole('alert').waitFor();
    await page.waitForTimeout(1000);
    expect(requests).toBeLessThanOrEqual(2);
    await page.unroute(/\/api\/jobs\?.*cursor=/);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('link', { name: /feedbeef/ }).waitFor();
    await tab.close();
  });
});
