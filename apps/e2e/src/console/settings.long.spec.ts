// This test is long because it operates one page in a browser.
// A short test of the same code: apps/gateway/src/organization/organization.spec.ts
import { waitFor } from '@muster/testing';
import type { Page } from 'playwright-core';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(180_000);

describeInBrowser('the settings', () => {
  let fixture: ConsoleFixture;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
  });
  afterAll(() => fixture?.end());

  const openSettingsTab = (page: Page, name: string) => page.getByRole('tab', { name, exact: true }).click();
  const readStatusWithKey = async (key: string) =>
    (await fetch(`${fixture.address}/api/agents`, { headers: { 'x-api-key': key } })).status;
  const expectStatus = (page: Page, text: string) => page.getByRole('status').filter({ hasText: text }).waitFor();

  it('the settings pause a concurrency key, show the runs that wait for it, and resume the key', async () => {
    const api = await fixture.createApiClient();
    const [{ id: agentId }] = (await api.get('/api/agents')).body.agents;
    const { id: workflowId } = (await api.post('/api/workflows', { name: 'Keyed', script: 'pass' })).body;
    const tab = await fixture.openSignedInTab('/app/settings?part=Concurrency');
    const { page } = tab;
    await page.getByText('No run holds a concurrency key').waitFor();
    await page.getByRole('button', { name: 'Set a limit' }).click();
    const dialog = page.getByRole('dialog', { name: 'Set a limit' });
    await dialog.getByLabel('Key').fill('delta-dental');
    await dialog.getByLabel('Limit').fill('0');
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await dialog.getByRole('button', { name: 'Set limit' }).click();
    const row = page.getByRole('row', { name: /delta-dental/ });
    await row.getByText('paused').waitFor();
    const launch = { agentId, workflowId, concurrencyKeys: [{ key: 'delta-dental' }] };
    const { jobId } = (await api.post('/api/jobs/launch', launch)).body;
    await row.getByText('1 run', { exact: true }).waitFor();
    await tab.goto(`/app/runs/${jobId}`);
    await page.getByTestId('run-why').getByText('The key delta-dental is paused.').waitFor();
    await tab.goto('/app/settings?part=Concurrency');
    await page.getByRole('button', { name: 'Actions for delta-dental' }).click();
    await page.getByRole('menuitem', { name: 'Resume' }).click();
    await page.getByText('No run holds a concurrency key').waitFor({ timeout: 60_000 });
    await tab.goto(`/app/runs/${jobId}`);
    await page.getByTestId('run-status').filter({ hasText: 'completed' }).waitFor({ timeout: 60_000 });
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('a program signs in with a device code after the user allows it', async () => {
    const api = await fixture.createApiClient();
    const codes = (await api.post('/api/auth/device', { device_name: 'muster on front-desk-3' })).body;
    const requestToken = () => api.post('/api/auth/device/token', { device_code: codes.device_code });
    const tab = await fixture.openSignedInTab('/app/device', { width: 390, height: 800 });
    const { page } = tab;
    await page.getByLabel('Code').fill('BBBB-BBBB');
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('No program waits with this code').waitFor();
    await page.getByRole('button', { name: 'Another code' }).click();
    await page.getByLabel('Code').fill(codes.user_code);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: 'muster on front-desk-3' }).waitFor();
    expect((await requestToken()).body.code).toBe('authorization_pending');
    const shown = await page.getByRole('main').innerText();
    for (const fact of ['at most those of a member', 'valid until it is revoked', codes.user_code, '127.0.0.1'])
      expect(shown).toContain(fact);
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.getByText('muster on front-desk-3 is signed in').waitFor();
    expect((await requestToken()).body.access_token).toMatch(/^msk_/);
    expect(tab.complaints.filter((each) => !each.includes('404'))).toEqual([]);
    await tab.close();
  });

  it('the settings list the user’s sessions, and end the sessions in other browsers', async () => {
    const robin = await fixture.inviteUser('viewer');
    const tab = await fixture.openSignedInTab('/app/settings?part=Security', undefined, robin);
    const other = await fixture.openSignedInTab('/app/agents', undefined, robin);
    const { page } = tab;
    await page.getByRole('cell', { name: /\(this one\)/ }).waitFor();
    await page.getByRole('button', { name: 'End all others' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'End sessions' }).click();
    await page.getByText(/Ended \d+ session/).waitFor();
    expect(await page.getByRole('row').count()).toBe(2);
    await other.page.getByRole('link', { name: 'Runs', exact: true }).click();
    await other.page.getByText('Your session has ended').waitFor();
    await other.close();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('an API key is shown once; after a rotation, the new key works when the old one is revoked', async () => {
    const tab = await fixture.openSignedInTab('/app/settings?part=API%20keys');
    const { page } = tab;
    await page.getByRole('button', { name: 'New API key' }).click();
    const dialog = page.getByRole('dialog', { name: 'New API key' });
    await dialog.getByLabel('Name').fill('nightly');
    await dialog.getByRole('button', { name: 'Create key' }).click();
    const old = await dialog.getByText(/^msk_\S+$/).innerText();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('button', { name: 'Actions for nightly' }).click();
    await page.getByRole('menuitem', { name: 'Rotate' }).click();
    const rotation = page.getByRole('dialog', { name: 'Rotate nightly' });
    await rotation.getByRole('button', { name: 'Create new key' }).click();
    const newKey = await rotation.getByText(/^msk_\S+$/).innerText();
    const readStatusesWithBothKeys = async () => [await readStatusWithKey(old), await readStatusWithKey(newKey)];
    expect(await readStatusesWithBothKeys()).toEqual([200, 200]);
    await rotation.getByRole('button', { name: 'Revoke the old key' }).click();
    await expectStatus(page, 'The old key of nightly is revoked.');
    await waitFor('the end of the old key', async () => (await readStatusWithKey(old)) === 401);
    expect(await readStatusesWithBothKeys()).toEqual([401, 200]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('a worker that is sent a new key keeps working after its old keys are revoked', async () => {
    const api = await fixture.createApiClient();
    const agentId = (await api.get('/api/agents')).body.agents[0].id;
    const isAgentOnline = async () => (await api.get(`/api/agents/${agentId}`)).body.status === 'online';
    await waitFor('the agent to be online', isAgentOnline, 60_000);
    const readRotatedKeys = async (): Promise<{ id: string; lastUsedAt: string | null }[]> => {
      const { apiKeys } = (await api.get('/api/api-keys?limit=200')).body;
      return apiKeys.filter(
        (key: { agentId: string; scope: string }) => key.agentId === agentId && key.scope === 'worker',
      );
    };
    const former = await readRotatedKeys();
    const tab = await fixture.openSignedInTab(`/app/agents/${agentId}?tab=settings`);
    const { page } = tab;
    await page.getByRole('button', { name: 'Rotate key' }).click();
    const dialog = page.getByRole('dialog', { name: 'New worker key' });
    const [, id] = /^msk_([^_]+)_/.exec(await dialog.getByText(/^msk_\S+$/).innerText())!;
    await dialog.getByRole('button', { name: 'Send to worker' }).click();
    await dialog.getByText('The new key was sent to the worker').waitFor();
    expect(await tab.findBarriers()).toEqual([]);
    await dialog.getByRole('button', { name: 'Done' }).click();
    const isKeyUsed = async () => (await readRotatedKeys()).some((key) => key.id === id && key.lastUsedAt !== null);
    await waitFor('the new key in use', isKeyUsed, 60_000);
    for (const old of former) {
      await page.getByRole('button', { name: `Revoke msk_${old.id}` }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
      await page.getByText(`msk_${old.id}`, { exact: true }).waitFor({ state: 'detached' });
    }
    expect((await readRotatedKeys()).map((key) => key.id)).toEqual([id]);
    const workflowId = (await api.get('/api/workflows')).body.workflows[0].id;
    const launched = await api.post('/api/jobs/launch', {
      workflowId,
      agentId,
      variables: { GREETING: 'Hello again' },
    });
    const { jobId } = launched.body;
    const isDone = async () => (await api.get(`/api/jobs/${jobId}`)).body.status === 'completed';
    await waitFor('a run with the new key', isDone, 60_000);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the settings store a secret whose value is not shown again, and a model that uses the secret', async () => {
    const tab = await fixture.openSignedInTab('/app/settings?part=Vault');
    const { page } = tab;
    await page.getByRole('button', { name: 'New secret' }).click();
    const dialog = page.getByRole('dialog', { name: 'New secret' });
    await dialog.getByLabel('Name').fill('MODEL_KEY');
    await dialog.getByLabel('Value').fill('  very secret  ');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('cell', { name: 'MODEL_KEY', exact: true }).waitFor();
    expect(await page.content()).not.toContain('very secret');
    await openSettingsTab(page, 'Model');
    await page.getByLabel('Base URL').fill('http://127.0.0.1:9/v1');
    await page.getByLabel('Model name').fill('small');
    await page.getByLabel('Secret with its API key').selectOption('MODEL_KEY');
    await page.getByRole('button', { name: 'Save' }).click();
    await expectStatus(page, 'Saved.');
    expect((await (await fixture.createApiClient()).get('/api/organization/model')).body).toMatchObject({
      name: 'small',
      apiKeyVaultKey: 'MODEL_KEY',
    });
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    // Another admin saves the model at the same time.
    const api = await fixture.createApiClient();
    const { visionName: _, ...model } = (await api.get('/api/organization/model')).body;
    expect((await api.put('/api/organization/model', { ...model, name: 'theirs', visionName: 'eyes' })).status).toBe(
      200,
    );
    await page.getByLabel('Model name').fill('mine');
    await page.getByRole('button', { name: 'Save' }).click();
    const conflict = page.getByRole('dialog', { name: 'Another user has changed this' });
    await conflict.getByLabel('Model name: theirs').getByText('theirs').waitFor();
    await conflict.getByText('The other user has also changed Model for images').waitFor();
    await conflict.getByRole('button', { name: 'Keep mine' }).click();
    await conflict.waitFor({ state: 'detached' });
    await waitFor('both changes to be saved', async () => {
      const { name, visionName } = (await api.get('/api/organization/model')).body;
      return name === 'mine' && visionName === 'eyes';
    });
    await waitFor(
      'the other admin’s change in the form',
      async () => (await page.getByLabel('Model for images').inputValue()) === 'eyes',
    );
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('The model of the service is used now.').waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the settings show both lists of prices if another admin has saved a list', async () => {
    const api = await fixture.createApiClient();
    const buildModelPrice = (model: string) => ({
      ...{ provider: 'acme', model, inputUsdPerMillion: 1, outputUsdPerMillion: 2, from: '2026-01-01' },
    });
    const listOwnPricedModels = async () => {
      const { prices } = (await api.get('/api/organization/model-prices')).body;
      return prices.flatMap(({ source, model }: Record<string, string>) => (source === 'organization' ? [model] : []));
    };
    const tab = await fixture.openSignedInTab('/app/settings?part=Prices');
    const { page } = tab;
    for (const [choice, savedModel] of [
      ['Take theirs', 'theirs'],
      ['Keep mine', 'mine'],
    ] as const) {
      await page.reload();
      await page.getByRole('button', { name: 'New price' }).click();
      const dialog = page.getByRole('dialog', { name: 'New price' });
      await dialog.getByLabel('Provider').fill('acme');
      await dialog.getByLabel('Model').fill('mine');
      await dialog.getByLabel('Input ($)').fill('1');
      await dialog.getByLabel('Output ($)').fill('2');
      const prices = [buildModelPrice('theirs'), ...(choice === 'Keep mine' ? [buildModelPrice('more')] : [])];
      expect((await api.put('/api/organization/model-prices', { prices })).status).toBe(200);
      await dialog.getByRole('button', { name: 'Save' }).click();
      const conflict = page.getByRole('dialog', { name: 'Another user has changed this' });
      await conflict.getByLabel('Prices: theirs').getByText('acme theirs from 2026-01-01').waitFor();
      await conflict.getByLabel('Prices: mine').getByText('acme mine from').waitFor();
      expect(await tab.findBarriersInBothThemes()).toEqual([]);
      await conflict.getByRole('button', { name: choice }).click();
      await conflict.waitFor({ state: 'detached' });
      await waitFor('the list', async () => (await listOwnPricedModels()).includes(savedModel));
    }
    expect(await listOwnPricedModels()).toEqual(['mine', 'theirs']);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the settings set a limit, and mark an invalid limit in its field', async () => {
    const tab = await fixture.openSignedInTab('/app/settings?part=Limits');
    const { page } = tab;
    await page.getByLabel('Monthly run limit').fill('5000000000');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').filter({ hasText: 'invalid_payload' }).waitFor();
    expect(await page.getByLabel('Monthly run limit').getAttribute('aria-invalid')).toBe('true');
    await page.getByLabel('Monthly run limit').fill('1000');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('progressbar', { name: 'Runs used' }).waitFor();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await page.getByLabel('Monthly run limit').fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('progressbar', { name: 'Runs used' }).waitFor({ state: 'detached' });
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the settings show both values if two users change a field, and keep both users’ other changes', async () => {
    const api = await fixture.createApiClient();
    const tab = await fixture.openSignedInTab('/app/settings');
    const { page } = tab;
    await page.getByLabel('Idle minutes before a stop').fill('45');
    await api.patch('/api/organization/settings', { idleStopMinutes: 60, timezone: 'America/Chicago' });
    await page.getByRole('button', { name: 'Save' }).click();
    const conflict = page.getByRole('dialog', { name: 'Another user has changed this' });
    await conflict.waitFor();
    expect(await conflict.getByLabel('Idle minutes before a stop: mine').innerText()).toBe('45');
    expect(await conflict.getByLabel('Idle minutes before a stop: theirs').innerText()).toBe('60');
    expect(await conflict.innerText()).toContain('Timezone');
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await conflict.getByRole('button', { name: 'Keep mine' }).click();
    await expectStatus(page, 'Saved.');
    const readSettings = async () => (await api.get('/api/organization/settings')).body;
    expect(await readSettings()).toMatchObject({ idleStopMinutes: 45, timezone: 'America/Chicago' });
    // The form shows the merged settings, which the next save sends.
    await waitFor(
      'their time zone',
      async () => (await page.getByLabel('Timezone').inputValue()) === 'America/Chicago',
    );
    await api.patch('/api/organization/settings', { idleStopMinutes: 90 });
    await page.getByLabel('Idle minutes before a stop').fill('15');
    await page.getByRole('button', { name: 'Save' }).click();
    await conflict.getByRole('button', { name: 'Take theirs' }).click();
    await waitFor('their minutes', async () => (await page.getByLabel(/^Idle minutes/).inputValue()) === '90');
    expect(await readSettings()).toMatchObject({ idleStopMinutes: 90, timezone: 'America/Chicago' });
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the settings add and remove a model price, and find a change in the audit log', async () => {
    const tab = await fixture.openSignedInTab('/app/settings?part=Prices');
    const { page } = tab;
    await page.getByRole('button', { name: 'New price' }).click();
    const dialog = page.getByRole('dialog', { name: 'New price' });
    await dialog.getByLabel('Provider').fill('acme');
    await dialog.getByLabel('Model').fill('small');
    await dialog.getByLabel('Input ($)').fill('0.4');
    await dialog.getByLabel('Output ($)').fill('1.6');
    await dialog.getByLabel('From').fill('2026-01-01');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('row', { name: /acme small .*organization/ }).waitFor();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await page.getByRole('button', { name: 'Actions for acme small' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('row', { name: /acme small/ }).waitFor({ state: 'detached' });
    await openSettingsTab(page, 'Audit');
    await page.getByLabel('Action', { exact: true }).fill('no.such.action');
    await page.getByText('No matching changes.').waitFor();
    const { entries } = (await (await fixture.createApiClient()).get('/api/audit?limit=1')).body;
    await page.getByLabel('Action', { exact: true }).fill(entries[0].action);
    await page.getByRole('button', { name: entries[0].action }).first().click();
    const entry = page.getByRole('dialog', { name: entries[0].action });
    expect(await entry.innerText()).toContain(fixture.admin[0]);
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    expect(new URL(page.url()).searchParams.get('action')).toBe(entries[0].action);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});
