// This test is long because it operates one page in a browser.
// A short test of the same code: apps/e2e/src/console/stories.spec.ts
import { type HttpClient, waitFor } from '@muster/testing';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(240_000);

describeInBrowser('the pages of schedules', () => {
  let fixture: ConsoleFixture;
  let api: HttpClient;
  let agentId: string;
  let scriptId: string;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
    api = await fixture.createApiClient();
    agentId = (await api.get('/api/agents')).body.agents[0].id;
    const created = await api.post('/api/workflows', { name: 'Nightly', script: 'print(1)\n', variables: ['PAYER'] });
    scriptId = created.body.id;
    await api.patch('/api/organization/settings', { timezone: 'America/Chicago' });
  });
  afterAll(() => fixture?.end());

  const createSchedule = async (body: object) => {
    const defaults = { agentId, scriptId, variables: { PAYER: 'Acme' }, timezone: 'America/Chicago' };
    const created = await api.post('/api/schedules', {
      name: 'S',
      cronExpression: '0 6 * * 1-5',
      ...defaults,
      ...body,
    });
    expect(created.status).toBe(201);
    return created.body.id as string;
  };
  const readSchedule = async (id: string) => (await api.get(`/api/schedules/${id}`)).body;

  it('the pages of schedules create, edit, dry-run, run, pause and delete a schedule', async () => {
    const tab = await fixture.openSignedInTab('/app/schedules');
    const { page } = tab;
    await page.getByRole('button', { name: 'New schedule' }).click();
    const dialog = page.getByRole('dialog', { name: 'New schedule' });
    await dialog.getByLabel('Name', { exact: true }).fill('Claims <b>at night</b>');
    await dialog.getByLabel('Workflow').selectOption({ label: 'Nightly' });
    await dialog.getByLabel('PAYER').fill('Acme');
    await dialog.getByLabel('Cron expression').fill('30 2 * * 1-5');
    const preview = dialog.getByTestId('cron-preview');
    await preview.getByText('At 02:30, Monday to Friday.').waitFor();
    await waitFor('the times of the preview', async () => (await preview.getByRole('listitem').count()) === 5);
    await dialog.getByText('Guards and limits').click();
    await dialog.getByLabel('Runs at once').fill('1');
    expect(await tab.findBarriers()).toEqual([]);
    await dialog.getByRole('button', { name: 'Create schedule' }).click();
    await page.getByRole('link', { name: 'Claims <b>at night</b>' }).click();
    await page.getByRole('heading', { level: 1, name: 'Claims <b>at night</b>' }).waitFor();
    await page.getByText('At 02:30, Monday to Friday.').waitFor();
    const id = page.url().split('/').at(-1)!;

    await page.getByRole('button', { name: 'Edit schedule' }).click();
    const edited = page.getByRole('dialog', { name: /^Edit / });
    await edited.getByLabel('Cron expression').fill('0 3 * * *');
    await edited.getByLabel('PAYER').fill('Other');
    await edited.getByLabel('Retries', { exact: true }).fill('2');
    await edited.getByRole('button', { name: 'Add key' }).click();
    await edited.getByLabel('Key', { exact: true }).fill('portal:{{PAYER}}');
    expect(await tab.findBarriers()).toEqual([]);
    await edited.getByRole('button', { name: 'Save' }).click();
    // The preview in the dialog contains the same text, so the dialog must be closed first.
    await edited.waitFor({ state: 'hidden' });
    await page.getByText('At 03:00, every day.').waitFor();
    expect(await readSchedule(id)).toMatchObject({
      cronExpression: '0 3 * * *',
      variables: { PAYER: 'Other' },
      maxRetries: 2,
      concurrencyLimit: 1,
      concurrencyKeys: [{ key: 'portal:{{PAYER}}' }],
      maxRuntimeMinutes: 720,
    });

    const chooseScheduleAction = async (action: string) => {
      await page.getByRole('button', { name: 'Actions for Claims' }).click();
      await page.getByRole('menuitem', { name: action }).click();
    };
    await chooseScheduleAction('Dry run');
    await page
      .getByRole('dialog', { name: /^Dry run/ })
      .getByText('A run would be launched now.')
      .waitFor();
    await page.keyboard.press('Escape');
    await chooseScheduleAction('Run now');
    await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('cell', { name: 'by hand' }).waitFor();
    await chooseScheduleAction('Pause');
    await page.getByText('disabled', { exact: true }).waitFor();
    expect(await tab.findBarriers()).toEqual([]);
    await chooseScheduleAction('Resume');
    await page.getByText('enabled', { exact: true }).waitFor();
    await chooseScheduleAction('Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { level: 1, name: 'Schedules' }).waitFor();
    expect((await api.get(`/api/schedules/${id}`)).status).toBe(404);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the pages of schedules show both versions if two users change the same schedule', async () => {
    const id = await createSchedule({ name: 'Contested' });
    const tab = await fixture.openSignedInTab(`/app/schedules/${id}`);
    const { page } = tab;
    await page.getByRole('button', { name: 'Edit schedule' }).click();
    const edited = page.getByRole('dialog', { name: /^Edit / });
    await edited.getByLabel('Cron expression').fill('0 7 * * *');
    await api.put(`/api/schedules/${id}`, { cronExpression: '0 8 * * *', maxRetries: 3 });
    await edited.getByRole('button', { name: 'Save' }).click();
    const conflict = page.getByRole('dialog', { name: 'Another user has changed this' });
    await conflict.getByLabel('Cron expression: theirs').getByText('0 8 * * *').waitFor();
    await conflict.getByLabel('Cron expression: mine').getByText('0 7 * * *').waitFor();
    await conflict.getByRole('button', { name: 'Keep mine' }).click();
    await edited.waitFor({ state: 'hidden' });
    await page.getByText('At 07:00, every day.').waitFor();
    expect(await readSchedule(id)).toMatchObject({ cronExpression: '0 7 * * *', maxRetries: 3 });
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the pages of schedules explain why a run would be skipped and why a run was skipped', async () => {
    await api.put('/api/vault/GONE', { value: 'x' });
    const id = await createSchedule({ name: 'Needs a secret', vaultKeys: ['GONE'] });
    await api.delete('/api/vault/GONE');
    const tab = await fixture.openSignedInTab(`/app/schedules/${id}`);
    const { page } = tab;
    await page.getByRole('button', { name: 'Actions for Needs a secret' }).click();
    await page.getByRole('menuitem', { name: 'Dry run' }).click();
    const tried = page.getByRole('dialog', { name: /^Dry run/ });
    await tried
      .getByText('skipped: A secret that the workflow needs is not in the vault. Add it to the vault. (secret_missing)')
      .waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Actions for Needs a secret' }).click();
    await page.getByRole('menuitem', { name: 'Run now' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
    await page.getByRole('cell', { name: /secret_missing/ }).waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the week shows schedules in the organization’s time zone, very frequent ones in a separate list', async () => {
    const chicago = new Intl.DateTimeFormat('en-GB', {
      timeZone: 'America/Chicago',
      hour: '2-digit',
      minute: '2-digit',
    });
    // The week shows only runs that are still to come. Today's run is the last minute of the day, so it is one of them
    // unless that minute has begun.
    await waitFor('a time before the last minute of the day', () => chicago.format() !== '23:59', 65_000);
    await createSchedule({ name: 'Every weekday', cronExpression: '59 23 * * 1-5' });
    await createSchedule({ name: 'All the time', cronExpression: '*/5 * * * *' });
    // The schedule has another time zone than the organization.
    await createSchedule({ name: 'Daily noon', cronExpression: '0 12 * * *', timezone: 'Etc/UTC' });
    const tab = await fixture.openSignedInTab('/app/schedules');
    const { page } = tab;
    await page.getByRole('button', { name: 'Week', exact: true }).press('Enter');
    await page.getByTestId('week-day').first().waitFor();
    expect(await page.getByTestId('week-day').count()).toBe(7);
    await page
      .getByRole('list', { name: 'Schedules with many runs' })
      .getByText('Every 5 minutes, every day.')
      .waitFor();
    const weekdayCount = await page.getByTestId('week-day').filter({ hasText: 'Every weekday' }).count();
    expect(weekdayCount).toBe(5);
    // Noon UTC in the time zone of Chicago. The first noon from now may pass during the test, so the second is used.
    const dayMs = 86_400_000;
    const secondNoon = new Date((Math.ceil(Date.now() / dayMs - 0.5) + 1.5) * dayMs);
    const day = page.getByTestId('week-day').filter({ hasText: 'Daily noon' }).nth(1);
    expect(await day.innerText()).toContain(chicago.format(secondNoon));
    expect(page.url()).toContain('view=week');
    expect(await tab.findBarriers()).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it.each([
    { theme: 'light', width: 360 },
    { theme: 'dark', width: 1440 },
  ] as const)(
    'the pages of schedules are accessible and usable by the keyboard: $theme, $width px',
    async (appearance) => {
      const name = `${'long'.repeat(40)} ${appearance.theme}`;
      const id = await createSchedule({ name, variables: { PAYER: 'x'.repeat(10_000) } });
      const tab = await fixture.openSignedInTab('/app/schedules?view=week', appearance);
      const { page } = tab;
      await page.getByTestId('week-day').first().waitFor();
      const measureTabOverflow = () => tab.measureOverflow();
      expect(await tab.findBarriers()).toEqual([]);
      expect(await measureTabOverflow()).toBeLessThanOrEqual(0);
      await tab.goto(`/app/schedules/${id}`);
      await page.getByRole('button', { name: 'Edit schedule' }).press('Enter');
      const edited = page.getByRole('dialog', { name: /^Edit / });
      await edited.getByLabel('PAYER').fill('Acme');
      expect(await tab.findBarriers()).toEqual([]);
      await edited.getByLabel('Name', { exact: true }).press('Enter');
      await edited.waitFor({ state: 'detached' });
      expect(await readSchedule(id)).toMatchObject({ variables: { PAYER: 'Acme' } });
      expect(await tab.findBarriers()).toEqual([]);
      expect(await measureTabOverflow()).toBeLessThanOrEqual(0);
      expect(tab.complaints).toEqual([]);
      await tab.close();
    },
  );
});
