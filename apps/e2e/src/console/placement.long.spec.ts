// This test is long because it operates several pages in a browser.
// A short test of the same code: apps/gateway/src/jobs/placement.spec.ts
import { waitFor } from '@muster/testing';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(180_000);

describeInBrowser('placement in the console', () => {
  let fixture: ConsoleFixture;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
  });
  afterAll(() => fixture?.end());

  it.each([{ width: 1440 }, { width: 390 }])(
    'an agent is excluded from placement, agents are grouped by label, and a run shows where and why it started: $width px',
    async ({ width }) => {
      const api = await fixture.createApiClient();
      const readAgent = async () => (await api.get('/api/agents?label=demo')).body.agents[0];
      await waitFor('the agent', async () => (await readAgent()).status === 'online');
      const { id: agentId } = await readAgent();
      const tab = await fixture.openSignedInTab(`/app/agents/${agentId}?tab=settings`, { width });
      const { page } = tab;
      const expectNoBarriersOrOverflow = async () => {
        expect(await tab.findBarriersInBothThemes()).toEqual([]);
        const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
        expect(overflow).toBeLessThanOrEqual(0);
      };

      const placement = page.getByRole('switch', { name: 'Accepts runs that require its labels' });
      await placement.uncheck();
      await waitFor('the change', async () => (await readAgent()).placement === false);
      await page.getByText('While this is off, the agent starts only runs that were launched for it by name').waitFor();
      await expectNoBarriersOrOverflow();

      await tab.goto('/app/agents');
      await page.getByLabel('Group').selectOption({ label: 'by label' });
      await waitFor('the group in the address', () => new URL(page.url()).searchParams.get('group') === 'label');
      const group = page.getByTestId('label-group').filter({ hasText: 'demo' });
      await group.getByText('1 agent, 1 online').waitFor();
      await group.getByText('Accepts only runs launched for it by name.').waitFor();
      await expectNoBarriersOrOverflow();
      await page.goBack();
      await page.getByRole('table', { name: 'Agents' }).waitFor();

      const openDialog = async () => {
        await tab.goto('/app/workflows');
        await page.getByRole('link', { name: 'Hello, Muster' }).click();
        await page.getByRole('heading', { level: 1, name: 'Hello, Muster' }).waitFor();
        await page.getByRole('button', { name: 'Run', exact: true }).click();
        const dialog = page.getByRole('dialog', { name: 'Run Hello, Muster' });
        await dialog.getByLabel('GREETING').fill('Good evening');
        await dialog.getByTestId('placement').getByText('The run would start now: the agent is online').waitFor();
        await dialog.getByLabel('Runs on').selectOption({ label: 'any machine with labels' });
        return dialog;
      };
      const refused = await openDialog();
      await refused.getByLabel('Labels').fill('demo, x-ray');
      await refused.getByTestId('placement').getByText('0 fit, 0 online, 0 idle. The run would be refused').waitFor();
      await refused.getByRole('button', { name: 'Run now' }).click();
      await refused.getByText('No agent has the label x-ray.', { exact: true }).waitFor();
      await refused.getByLabel('Labels').fill('demo');
      await refused.getByTestId('placement').getByText('1 fit, 1 online, 0 idle. The run would wait').waitFor();
      await expectNoBarriersOrOverflow();
      await refused.getByRole('button', { name: 'Run now' }).click();
      const why = page.getByTestId('run-why');
      await why.getByText('No agent with the required labels is free').waitFor();
      await why.getByText('1 agent fits: 0 busy, 0 starting, 0 draining, 0 off.').waitFor();
      await why.getByRole('link', { name: 'demo' }).waitFor();
      await expectNoBarriersOrOverflow();
      const waitingUrl = page.url();

      await api.patch(`/api/agents/${agentId}`, { placement: true });
      await page.getByTestId('run-status').filter({ hasText: 'completed' }).waitFor({ timeout: 60_000 });
      await page.getByTestId('placement-why').waitFor();
      await page.getByRole('link', { name: 'Demo agent' }).waitFor();
      await expectNoBarriersOrOverflow();
      const started = await openDialog();
      await started.getByLabel('Labels').fill('demo');
      await started.getByTestId('placement').getByText('1 fit, 1 online, 1 idle. The run would start now').waitFor();

      const runId = waitingUrl.split('/').at(-1)!;
      await tab.goto('/app/runs');
      await page.getByRole('button', { name: 'More filters' }).click();
      await page.getByLabel('Target label').fill('demo');
      await waitFor('the filter in the address', () => new URL(page.url()).searchParams.get('target') === 'demo');
      await page.locator(`a[href$="${runId}"]`).first().waitFor();
      await page.getByLabel('Target label').fill('north');
      await page.getByText('No matching runs.').waitFor();
      await expectNoBarriersOrOverflow();

      await tab.goto('/app/schedules');
      await page.getByRole('button', { name: 'New schedule' }).click();
      const schedule = page.getByRole('dialog', { name: 'New schedule' });
      await schedule.getByLabel('Name', { exact: true }).fill(`At night, ${width}`);
      await schedule.getByLabel('Workflow').selectOption({ label: 'Hello, Muster' });
      await schedule.getByLabel('GREETING').fill('Good night');
      await schedule.getByLabel('Runs on').selectOption({ label: 'any machine with labels' });
      await schedule.getByLabel('Labels').fill('demo');
      await schedule.getByLabel('Of several idle machines').selectOption('spread');
      await schedule.getByTestId('placement').getByText('1 fit, 1 online, 1 idle.').waitFor();
      await expectNoBarriersOrOverflow();
      await schedule.getByRole('button', { name: 'Create schedule' }).click();
      await page.getByRole('link', { name: `At night, ${width}` }).click();
      await page.getByText('any with demo').first().waitFor();
      await expectNoBarriersOrOverflow();
      expect(tab.complaints).toEqual([]);
      await tab.close();
    },
  );

  it('a viewer sees whether an agent takes runs by its labels and cannot change it', async () => {
    const viewer = await fixture.inviteUser('viewer');
    const [{ id }] = (await (await fixture.createApiClient()).get('/api/agents')).body.agents;
    const tab = await fixture.openSignedInTab(`/app/agents/${id}?tab=settings`, {}, viewer);
    const placement = tab.page.getByRole('switch', { name: 'Accepts runs that require its labels' });
    await placement.waitFor();
    expect([await placement.isChecked(), await placement.isDisabled()]).toEqual([true, true]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });
});
