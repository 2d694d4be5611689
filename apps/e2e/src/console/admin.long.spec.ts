// This test is long because it operates one page in a browser.
// A short test of the same code: apps/e2e/src/console/stories.spec.ts
import { randomUUID } from 'node:crypto';
import { waitFor } from '@muster/testing';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(180_000);

describeInBrowser('the administration page', () => {
  let fixture: ConsoleFixture;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
  });
  afterAll(() => fixture?.end());

  it('a super admin creates an organization, works in it with a note on every page, and switches back', async () => {
    const tab = await fixture.openSignedInTab('/app/admin', undefined, fixture.superAdmin);
    const { page } = tab;
    await page.getByRole('button', { name: 'New organization' }).click();
    const dialog = page.getByRole('dialog', { name: 'New organization' });
    await dialog.getByLabel('Name').fill('<b>Southside</b>');
    await dialog.getByLabel('Admin email').fill('south@example.com');
    await dialog.getByLabel('Admin password').fill('a good password');
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await dialog.getByRole('button', { name: 'Create organization' }).click();
    await page.getByRole('button', { name: 'Actions for <b>Southside</b>' }).click();
    await page.getByRole('menuitem', { name: 'Switch to' }).click();
    const note = page.getByRole('note', { name: 'Another organization' });
    await note.filter({ hasText: '<b>Southside</b>' }).waitFor();
    await page.getByRole('link', { name: 'Agents', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
    await page
      .getByText(/There is no agent|no agent yet|No agent/)
      .first()
      .waitFor();
    expect(await page.getByText('Demo agent').count()).toBe(0);
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await page.reload();
    await note.waitFor();
    await note.getByRole('button', { name: 'Back to my organization' }).click();
    await note.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Agents', exact: true }).click();
    await page.getByRole('link', { name: 'Demo agent' }).waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the administration page can suspend an organization, after a confirmation, and resume it', async () => {
    const root = await fixture.createApiClient(fixture.superAdmin);
    const input = { name: 'Westside', adminEmail: 'west@example.com', adminPassword: 'a good password' };
    await root.post('/api/admin/organizations', input);
    const tab = await fixture.openSignedInTab('/app/admin', undefined, fixture.superAdmin);
    const { page } = tab;
    const row = page.getByRole('row', { name: /Westside/ });
    await page.getByRole('button', { name: 'Actions for Westside' }).click();
    await page.getByRole('menuitem', { name: 'Suspend' }).click();
    const dialog = page.getByRole('dialog', { name: 'Suspend Westside?' });
    await dialog.getByRole('button', { name: 'Suspend' }).click();
    await row.getByText('suspended').waitFor();
    await page.getByRole('button', { name: 'Actions for Westside' }).click();
    await page.getByRole('menuitem', { name: 'Resume' }).click();
    await row.getByText('active').waitFor();
    await page.getByRole('button', { name: 'Actions for Westside' }).click();
    await page.getByRole('menuitem', { name: 'Limits' }).click();
    await page.getByRole('note', { name: 'Another organization' }).filter({ hasText: 'Westside' }).waitFor();
    await page.getByLabel('Monthly run limit').fill('7');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('status').filter({ hasText: 'Saved.' }).waitFor();
    const west = await fixture.createApiClient(['west@example.com', 'a good password']);
    expect((await west.get('/api/organization/settings')).body.monthlyRunLimit).toBe(7);
    const own = await fixture.createApiClient();
    expect((await own.get('/api/organization/settings')).body.monthlyRunLimit).toBeNull();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('an admin can set the prices of their own organization, and sees why a run has no charge', async () => {
    const [run] = (await (await fixture.createApiClient()).get('/api/jobs?limit=1')).body.jobs;
    const tab = await fixture.openSignedInTab('/app/admin');
    const { page } = tab;
    expect(await page.getByRole('tab').allInnerTexts()).toEqual(['Pricing', 'Backfill']);
    await page.getByLabel('Pricing type').selectOption('per_claim');
    await page.getByLabel('Price per claim (USD)').fill('1.5');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('status').filter({ hasText: 'Saved.' }).waitFor();
    await page.reload();
    expect(await page.getByLabel('Price per claim (USD)').inputValue()).toBe('1.5');
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await page.getByRole('tab', { name: 'Backfill' }).click();
    await page.getByLabel('Run ID').fill(run.id);
    await page.getByRole('button', { name: 'Compute' }).click();
    await page.getByRole('alert').filter({ hasText: 'metadata_not_found' }).waitFor();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the administration page shows how the charge of a run is calculated', async () => {
    const api = await fixture.createApiClient();
    const agentId = (await api.get('/api/agents')).body.agents[0].id;
    const buildClaimStepCode = (id: string) =>
      `with muster.step("claim ${id}", metadata={"type": "claim_result", "npi": "1234567893", "claim_id": "${id}"}): pass`;
    const script = ['import muster', buildClaimStepCode('A'), buildClaimStepCode('A'), buildClaimStepCode('B')].join(
      '\n',
    );
    const workflow = await api.post('/api/workflows', { name: 'Claims', script });
    const { jobId } = (await api.post('/api/jobs/launch', { agentId, workflowId: workflow.body.id })).body;
    const tab = await fixture.openSignedInTab(`/app/runs/${jobId}`);
    const { page } = tab;
    await page.getByTestId('run-status').filter({ hasText: 'completed' }).waitFor({ timeout: 60_000 });
    await tab.goto('/app/admin?part=Backfill');
    await page.getByLabel('Run ID').fill(jobId);
    await page.getByLabel('Create the default pricing model if the organization has none').check();
    await page.getByRole('button', { name: 'Compute' }).click();
    const computed = page.getByRole('region', { name: 'Computed charge' });
    await computed.waitFor();
    expect(await computed.innerText()).toMatch(/Claims\s+2\s/);
    expect(await computed.innerText()).toMatch(/Repeated\s+1\s/);
    await page.getByRole('tab', { name: 'Pricing' }).click();
    await page.getByRole('button', { name: `Actions for the record of run ${jobId.slice(-8)}` }).click();
    await page.getByRole('menuitem', { name: 'Show calculation' }).click();
    const steps = page.getByRole('dialog').getByRole('table', { name: 'Steps in the calculation' });
    await steps.getByRole('cell', { name: 'repeated' }).waitFor();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the administration page exports feedback as a file, and shows the state of the trackers', async () => {
    const tab = await fixture.openSignedInTab('/app/admin?part=Feedback%20export', undefined, fixture.superAdmin);
    const { page } = tab;
    await page.getByLabel('Type').selectOption('bug_report');
    await page.getByLabel('Organization', { exact: true }).fill('My organization');
    await page.waitForURL(/organization=My/);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export CSV' }).click(),
    ]);
    expect(new URL(download.url()).search).toBe('?type=bug_report&organization=My+organization');
    expect(await download.failure()).toBeNull();
    await page.getByRole('tab', { name: 'Feedback sync' }).click();
    await page.getByText('No dead letters.').waitFor();
    expect(await page.getByRole('tabpanel').innerText()).toContain('not configured');
    for (const part of ['Default prices', 'Usage', 'Maintenance', 'Feedback sync', 'Feedback export']) {
      await page.getByRole('tab', { name: part }).click();
      await page.getByRole('tabpanel', { name: part }).getByRole('heading').first().waitFor();
      expect([part, await tab.findBarriersInBothThemes()]).toEqual([part, []]);
    }
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the page of queues sends a probe message through each queue and shows the time until it was answered', async () => {
    const tab = await fixture.openSignedInTab('/app/queues', undefined, fixture.superAdmin);
    const { page } = tab;
    const queues = page.getByRole('table', { name: 'Queues of the service' });
    await queues.getByRole('row', { name: /dispatch/ }).waitFor();
    // Waits for all content, because content that loads late moves the button.
    await waitFor('the content to load', async () => (await page.getByLabel('Loading').count()) === 0);
    await page.getByRole('button', { name: 'Send probe messages' }).click();
    await page
      .getByRole('status')
      .filter({ hasText: /[1-9]\d* probe messages/ })
      .waitFor();
    await queues.getByRole('row', { name: /dispatch.* ms/ }).waitFor();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the page of queues shows how many messages of each queue are handled and how many fail', async () => {
    const api = await fixture.createApiClient(fixture.superAdmin);
    const readDispatchQueue = async () => {
      const { queues } = (await api.get('/api/admin/queues')).body;
      return queues.find(({ name }: { name: string }) => name === 'dispatch');
    };
    const before = await readDispatchQueue();
    expect(before.handledLastHour).toBeGreaterThan(0);
    const id = randomUUID();
    // The payload of this message has no agent, so every handler refuses it, and it becomes a dead letter.
    await fixture.queryDatabase(
      `INSERT INTO outbox (id, queue, name, payload, next_publish_at) VALUES ($1, 'dispatch', 'dispatch-agent', '{}', now())`,
      [id],
    );
    await waitFor('the failure', async () => (await readDispatchQueue()).failedLastHour > before.failedLastHour);
    await fixture.queryDatabase('DELETE FROM outbox WHERE id = $1', [id]);
    const tab = await fixture.openSignedInTab('/app/queues', undefined, fixture.superAdmin);
    const queues = tab.page.getByRole('table', { name: 'Queues of the service' });
    await queues.getByRole('columnheader', { name: 'Handled per minute' }).waitFor();
    await queues.getByRole('row', { name: /dispatch .*\b[1-9]\d* of [\d,]+/ }).waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the page of queues shows an admin a dead letter with its error as text, and replays it', async () => {
    const api = await fixture.createApiClient();
    const [agent] = (await api.get('/api/agents')).body.agents;
    const { organization } = (await api.get('/api/auth/me')).body;
    await fixture.queryDatabase(
      `INSERT INTO outbox (id, queue, name, payload, organization_id, next_publish_at, attempts, last_error)
       VALUES ($1, 'dispatch', 'dispatch-agent', $2, $3, NULL, 12, '<b>it broke</b>')`,
      [randomUUID(), JSON.stringify({ agentId: agent.id }), organization.id],
    );
    const tab = await fixture.openSignedInTab('/app/queues');
    const { page } = tab;
    const letters = page.getByRole('table', { name: 'Dead letters' });
    await letters.getByRole('cell', { name: '<b>it broke</b>' }).waitFor();
    expect(await page.getByRole('heading', { name: 'Queues of the service' }).count()).toBe(0);
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await letters.getByRole('button', { name: /^Actions for dispatch-agent/ }).click();
    expect(await page.getByRole('menuitem').allInnerTexts()).toEqual(['Replay']);
    await page.getByRole('menuitem', { name: 'Replay' }).click();
    await page.getByText('No dead letters.').waitFor();
    expect((await api.get('/api/dead-letters')).body.deadLetters).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});
