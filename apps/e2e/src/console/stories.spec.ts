import { waitFor } from '@muster/testing';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(180_000);

describeInBrowser('the console', () => {
  let fixture: ConsoleFixture;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
  });
  afterAll(() => fixture?.end());

  it('the console reports a failed sign-in, and opens the requested page after a successful one', async () => {
    const tab = await fixture.openTab();
    const { page } = tab;
    await tab.goto('/app/agents?status=online');
    await page.getByLabel('Email').fill(fixture.admin[0]);
    await page.getByLabel('Password').fill('not the password');
    await page.getByRole('button', { name: 'Sign in' }).click();
    expect(await page.getByRole('alert').innerText()).toContain('unauthenticated');
    await tab.signIn(...fixture.admin);
    await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
    expect(new URL(page.url()).search).toBe('?status=online');
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the console launches a workflow and shows its run live', async () => {
    const tab = await fixture.openSignedInTab('/app/workflows');
    const { page } = tab;
    await page.getByRole('link', { name: 'Hello, Muster' }).click();
    // The list has a button with the same name in each row, so the page of the workflow must be shown first.
    await page.getByRole('heading', { level: 1, name: 'Hello, Muster' }).waitFor();
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    const dialog = page.getByRole('dialog', { name: 'Run Hello, Muster' });
    await dialog.getByLabel('GREETING').fill('Good <b>evening</b>');
    // Waits for the agents, because the form cannot be submitted before an agent is selected.
    await dialog.getByLabel('Agent').locator('option').first().waitFor({ state: 'attached' });
    await dialog.getByRole('button', { name: 'Run now' }).click();
    await page.getByTestId('run-status').filter({ hasText: 'completed' }).waitFor();
    // The output of a script is shown as text, not as markup.
    await page.getByTestId('log-line').filter({ hasText: 'Good <b>evening</b>, Muster!' }).waitFor();
    await waitFor(
      'the steps of the run',
      async () => (await page.getByTestId('step').filter({ hasText: 'passed' }).count()) === 3,
    );
    expect(await tab.findBarriers()).toEqual([]);
    // The workflow's page lists the durations of its runs, and an hour of the home page leads to the runs that ended in
    // it.
    await page.getByRole('link', { name: 'Hello, Muster', exact: true }).click();
    const durations = page.getByRole('figure', { name: 'Durations of runs' });
    await durations.getByText('Show as table').click();
    await durations
      .getByRole('row', { name: /completed/ })
      .first()
      .waitFor();
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Home' }).click();
    const hours = page.getByRole('table', { name: 'Ended runs by day and hour' });
    await hours
      .getByRole('link', { name: /^\d+ runs?, 0 failed$/ })
      .first()
      .click();
    await page.getByRole('button', { name: /^Ended from .* to / }).waitFor();
    await page
      .getByRole('link', { name: /^Hello, Muster/ })
      .first()
      .waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it.each([
    { theme: 'light', width: 1440 },
    { theme: 'dark', width: 1440 },
    { theme: 'light', width: 360 },
  ] as const)('the console has only accessible pages without browser errors: $theme, $width px', async (appearance) => {
    const tab = await fixture.openSignedInTab('/app', appearance);
    const links = tab.page.getByRole('navigation', { name: 'Main' }).getByRole('link');
    for (let at = 0; at < (await links.count()); at += 1) {
      await links.nth(at).click();
      const name = await links.nth(at).innerText();
      await tab.page.getByRole('heading', { level: 1, name }).waitFor();
      await waitFor(`the content of ${name}`, async () => (await tab.page.getByLabel('Loading').count()) === 0);
      expect([name, await tab.findBarriers()]).toEqual([name, []]);
      expect([name, await tab.measureOverflow()]).toEqual([name, 0]);
    }
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the console can be navigated by the keyboard', async () => {
    const tab = await fixture.openSignedInTab();
    const { page } = tab;
    const waitForHeading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor();
    await waitForHeading('Home');
    await page.keyboard.press('g');
    await page.keyboard.press('w');
    await waitForHeading('Workflows');
    await page.keyboard.press('/');
    await page.keyboard.type('Hello');
    await waitFor('the search in the address', () => page.url().endsWith('?q=Hello'));
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Page, agent, workflow or run' }).waitFor();
    await page.keyboard.type('Runs');
    await page.keyboard.press('Enter');
    await waitForHeading('Runs');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await page.keyboard.press('Escape');
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the console signs out by the account menu', async () => {
    const tab = await fixture.openSignedInTab();
    const { page } = tab;
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await tab.goto('/app/settings');
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await tab.close();
  });
});
