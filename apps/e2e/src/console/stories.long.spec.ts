// This test is long because it performs the tasks of an operator in a browser.
// A short test of the same code: apps/e2e/src/console/stories.spec.ts
import { waitFor } from '@muster/testing';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(180_000);

describeInBrowser('the console', () => {
  let fixture: ConsoleFixture;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
  });
  afterAll(() => fixture?.end());

  it('the console renames an agent in the list by the keyboard alone', async () => {
    const tab = await fixture.openSignedInTab('/app/agents');
    const { page } = tab;
    await page.getByRole('button', { name: 'Actions for Demo agent' }).press('Enter');
    await page.getByRole('menuitem', { name: 'Rename' }).press('Enter');
    const name = page.getByRole('textbox', { name: 'Name', exact: true });
    await name.fill('Front desk');
    await name.press('Enter');
    await page.getByRole('link', { name: 'Front desk' }).waitFor();
    await page.reload();
    await page.getByRole('link', { name: 'Front desk' }).click();
    await page.getByRole('heading', { level: 1, name: 'Front desk' }).waitFor();
    expect(await page.getByTestId('agent-status').innerText()).toContain('online');
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the console previews the times of a schedule, creates the schedule, and pauses it', async () => {
    const tab = await fixture.openSignedInTab('/app/schedules');
    const { page } = tab;
    await page.getByRole('button', { name: 'New schedule' }).click();
    const dialog = page.getByRole('dialog', { name: 'New schedule' });
    await dialog.getByLabel('Name', { exact: true }).fill('Every morning');
    await dialog.getByLabel('Workflow').selectOption({ label: 'Hello, Muster' });
    await dialog.getByLabel('GREETING').fill('Good morning');
    await dialog.getByLabel('Cron expression').fill('61 * * * *');
    await dialog.getByTestId('cron-preview').locator('.text-bad').waitFor();
    await dialog.getByLabel('Cron expression').fill('30 2 * * *');
    await dialog.getByLabel('Timezone').fill('America/Chicago');
    await waitFor(
      'the times of the preview',
      async () => (await dialog.getByTestId('cron-preview').locator('li').count()) === 5,
    );
    expect(await tab.findBarriers()).toEqual([]);
    await dialog.getByRole('button', { name: 'Create schedule' }).click();
    await page.getByRole('link', { name: 'Every morning' }).waitFor();
    await page.getByRole('button', { name: 'Actions for Every morning' }).click();
    await page.getByRole('menuitem', { name: 'Pause' }).click();
    await page
      .getByRole('row', { name: /Every morning/ })
      .getByText('disabled')
      .waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the console shows the key of a new agent once, with the command that installs its worker', async () => {
    const tab = await fixture.openSignedInTab('/app/agents');
    const { page } = tab;
    await page.getByRole('button', { name: 'New agent' }).click();
    const dialog = page.getByRole('dialog', { name: 'New agent' });
    await dialog.getByLabel('Name', { exact: true }).fill('<i>Back office</i>');
    await dialog.getByLabel('Provider').selectOption('external');
    await dialog.getByRole('button', { name: 'Create agent' }).click();
    await dialog.getByText(/^msk_\S+$/).waitFor();
    expect(await dialog.innerText()).toMatch(
      /curl -fsSL http:\S+\/worker\/install\.sh \| AGENT_ID=\S+ SERVICE_API_KEY=msk_\S+ sh/,
    );
    expect(await tab.findBarriers()).toEqual([]);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('link', { name: '<i>Back office</i>' }).waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the console reports a lost connection, and recovers automatically', async () => {
    const tab = await fixture.openSignedInTab('/app/agents');
    const { page } = tab;
    await page.getByTestId('agent-status').first().waitFor();
    await page.context().setOffline(true);
    await page.getByText('the connection is lost').waitFor();
    await page.context().setOffline(false);
    await page.getByText('the connection is lost').waitFor({ state: 'detached' });
    await tab.close();
  });
});
