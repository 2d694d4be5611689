// This test is long because it operates several pages in a browser.
// A short test of the same code: apps/gateway/src/jobs/accounts.spec.ts
import { waitFor } from '@muster/testing';
import type { Locator } from 'playwright-core';
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

  it('keys, accounts and the launch dialog with labels fit a phone, also with long names', async () => {
    const api = await fixture.createApiClient();
    const [{ id: agentId }] = (await api.get('/api/agents')).body.agents;
    const [key, name, pool] = ['delta-dental:', 'front office of ', 'portal '].map((start) => start + 'x'.repeat(60));
    const message = `Too many attempts: ${'y'.repeat(80)}`;
    await api.put('/api/vault/DD_PASS_2', { value: 'hunter2-of-the-vault' });
    await api.put(`/api/accounts/${encodeURIComponent(name!)}`, { pool, vaultKeys: { password: 'DD_PASS_2' } });
    await api.put('/api/concurrency-keys', { key, limit: 0 });
    const script = `import muster\nmuster.account_failed("PORTAL", reason="locked", message="${message}")\n`;
    const accounts = [{ pool, as: 'PORTAL' }];
    const { id: workflowId } = (await api.post('/api/workflows', { name: 'On a phone', script, accounts })).body;
    const { jobId } = (await api.post('/api/jobs/launch', { workflowId, agentId })).body;
    await waitFor('the run to end', async () => (await api.get(`/api/jobs/${jobId}`)).body.status === 'completed');
    const waiting = { workflowId, agentId, concurrencyKeys: [{ key }] };
    expect((await api.post('/api/jobs/launch', waiting)).status).toBe(202);

    const tab = await fixture.openSignedInTab('/app/settings?part=Concurrency', { width: 390, height: 844 });
    const { page } = tab;
    /** The page has no barriers, nothing is wider than the screen, and the element is inside of it. */
    const check = async (element: Locator) => {
      await element.waitFor();
      expect(await tab.findBarriersInBothThemes()).toEqual([]);
      expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
      const box = (await element.boundingBox())!;
      expect([box.x >= 0, box.x + box.width <= 390]).toEqual([true, true]);
    };
    const actionsFor = (item: string) => page.getByRole('button', { name: `Actions for ${item}` });
    await page.getByText(key!).first().waitFor();
    await page.getByText('for up to').waitFor();
    await check(actionsFor(key!));
    await actionsFor(key!).click();
    await page.getByRole('menuitem', { name: 'Set a limit' }).click();
    await check(page.getByRole('button', { name: 'Set limit' }));
    await page.keyboard.press('Escape');
    await actionsFor(key!).click();
    await page.getByRole('menuitem', { name: 'Show the runs that hold the key' }).click();
    await check(page.getByText('No run holds this key now.'));

    await tab.goto('/app/settings?part=Accounts');
    await check(page.getByText(message));
    await check(actionsFor(name!));
    await actionsFor(name!).click();
    await page.getByRole('menuitem', { name: 'Show its runs' }).click();
    const uses = page.getByRole('dialog');
    await uses.getByRole('link', { name: jobId.slice(-8) }).waitFor();
    for (const element of [uses.getByRole('button', { name: 'Close' }), ...(await uses.locator('td time').all())])
      await check(element);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'New account' }).click();
    await check(page.getByRole('dialog').getByRole('button', { name: 'Save' }));

    await tab.goto(`/app/workflows/${workflowId}`);
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    const run = page.getByRole('dialog', { name: 'Run On a phone' });
    await run.getByLabel('Runs on').selectOption({ label: 'any machine with labels' });
    await run.getByLabel('Labels').fill('demo');
    await check(run.getByTestId('placement').getByText('1 fit, 1 online, 1 idle.'));
    await check(run.getByLabel('Of several idle machines'));
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});
