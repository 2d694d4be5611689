// This test is long because it operates several pages in a browser.
// A short test of the same code: apps/gateway/src/jobs/accounts.spec.ts
import { waitFor } from '@muster/testing';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(180_000);

describeInBrowser('accounts in the console', () => {
  let fixture: ConsoleFixture;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
  });
  afterAll(() => fixture?.end());

  it('the console creates an account, shows that a run set the account aside, puts it back and deletes it', async () => {
    const api = await fixture.createApiClient();
    await api.put('/api/vault/DD_PASS_1', { value: 'hunter2-of-the-vault' });
    const script = 'import muster\nmuster.account_failed("PORTAL", reason="locked", message="Too many attempts")\n';
    const { id } = (await api.post('/api/workflows', { name: 'Borrowing', script })).body;
    const tab = await fixture.openSignedInTab('/app/settings?part=Accounts');
    const { page } = tab;
    await page.getByText('No accounts yet').waitFor();
    await page.getByRole('button', { name: 'New account' }).click();
    const dialog = page.getByRole('dialog', { name: 'New account' });
    await dialog.getByLabel('Name').fill('dd-1');
    await dialog.getByLabel('Pool').fill('delta-dental');
    await dialog.getByLabel('Secrets').fill('password=NO_SUCH_KEY');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('the vault has no secret NO_SUCH_KEY').first().waitFor();
    await dialog.getByLabel('Secrets').fill('password=DD_PASS_1');
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await dialog.getByRole('button', { name: 'Save' }).click();
    const row = page.getByRole('row', { name: /dd-1/ });
    await row.getByText('free').waitFor();

    await tab.goto(`/app/workflows/${id}`);
    await page.getByRole('button', { name: 'Edit details' }).click();
    const details = page.getByRole('dialog', { name: 'Edit Borrowing' });
    await details.getByRole('button', { name: 'Add account' }).click();
    await details.getByLabel('Pool').fill('delta-dental');
    await details.getByLabel('Name in the script').fill('LD');
    await details.getByRole('button', { name: 'Save' }).click();
    await details.getByText('is reserved').first().waitFor();
    await details.getByRole('button', { name: 'Remove this account' }).click();
    await details.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    const run = page.getByRole('dialog', { name: 'Run Borrowing' });
    await run.getByLabel('Agent').locator('option').first().waitFor({ state: 'attached' });
    await run.getByText('Guards').click();
    await run.getByRole('button', { name: 'Add account' }).click();
    await run.getByLabel('Pool').fill('delta-dental');
    await run.getByLabel('Name in the script').fill('PORTAL');
    expect(await tab.findBarriers()).toEqual([]);
    await run.getByRole('button', { name: 'Run now' }).click();
    await page.getByTestId('run-status').filter({ hasText: 'completed' }).waitFor({ timeout: 60_000 });

    const [{ id: agentId }] = (await api.get('/api/agents')).body.agents;
    const accounts = [{ pool: 'delta-dental', as: 'PORTAL' }];
    const { jobId } = (await api.post('/api/jobs/launch', { workflowId: id, agentId, accounts })).body;
    await waitFor('the run to wait', async () => (await api.get(`/api/jobs/${jobId}`)).body.waiting);
    await tab.goto(`/app/runs/${jobId}`);
    await page.getByTestId('run-why').getByText('Each account of the pool delta-dental rests').waitFor();
    await tab.goto('/app/settings?part=Accounts');
    await row.getByText('Too many attempts').waitFor();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await page.getByRole('button', { name: 'Actions for dd-1' }).click();
    await page.getByRole('menuitem', { name: 'Put back' }).click();
    await waitFor('the run to end', async () => (await api.get(`/api/jobs/${jobId}`)).body.status === 'completed');
    await page.getByRole('button', { name: 'Actions for dd-1' }).click();
    await page.getByRole('menuitem', { name: 'Show its runs' }).click();
    const uses = page.getByRole('dialog', { name: 'Runs with dd-1' });
    await uses.getByRole('link', { name: jobId.slice(-8) }).waitFor();
    expect(await tab.findBarriers()).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Actions for dd-1' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No accounts yet').waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});
