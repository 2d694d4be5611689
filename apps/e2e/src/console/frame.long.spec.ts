// This test is long because it opens every page in a browser.
// A short test of the same code: apps/e2e/src/console/stories.spec.ts
import { waitFor } from '@muster/testing';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(180_000);

describeInBrowser('the frame around every page', () => {
  let fixture: ConsoleFixture;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
  });
  afterAll(() => fixture?.end());

  it('the console opens the requested page after the user of an ended session has signed in again', async () => {
    const tab = await fixture.openSignedInTab('/app/settings?part=Users');
    const { page } = tab;
    await page.getByRole('row', { name: new RegExp(fixture.admin[0]) }).waitFor();
    await page.context().clearCookies();
    await page.getByRole('link', { name: 'Runs', exact: true }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await tab.signIn(...fixture.admin);
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the palette has the text that was typed while it was loaded, and these keys do not act as shortcuts', async () => {
    const tab = await fixture.openSignedInTab('/app/');
    const { page } = tab;
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    let load: () => void;
    const isReleased = new Promise<void>((resolve) => (load = resolve));
    await page.route(/palette[^/]*\.js$/, async (route) => {
      await isReleased;
      await route.continue();
    });
    const isRequested = page.waitForRequest(/palette[^/]*\.js$/);
    await page.keyboard.press('Control+k');
    await isRequested;
    // Without the palette, these two keys open the page of runs.
    await page.keyboard.type('gr');
    load!();
    const field = page.getByRole('dialog').getByRole('combobox');
    await field.waitFor();
    await page.keyboard.type('x');
    expect(await field.inputValue()).toBe('grx');
    expect(new URL(page.url()).pathname.replace(/\/$/, '')).toBe('/app');
    await tab.close();
  });

  it('the console hides typed text during a new sign-in, and warns before an idle session ends', async () => {
    const tab = await fixture.openSignedInTab('/app/settings?part=API%20keys');
    const { page } = tab;
    await page.getByRole('button', { name: 'New API key' }).click();
    await page.getByLabel('Name').fill('half a name');
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByText('Your session has ended').waitFor();
    expect(await page.getByText('half a name').isVisible()).toBe(false);
    const signInAgain = async () => {
      await page.getByLabel('Email').fill(fixture.admin[0]);
      await page.getByLabel('Password').fill(fixture.admin[1]);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('Your session has ended').waitFor({ state: 'detached' });
    };
    await signInAgain();
    expect(await page.getByLabel('Name').inputValue()).toBe('half a name');
    await page.getByRole('button', { name: 'Close' }).click();

    const now = Date.now();
    await page.clock.setFixedTime(now + 59.5 * 60_000);
    await page.getByText('You are signed out in less than a minute').waitFor();
    await page.getByRole('button', { name: 'Stay signed in' }).click();
    await page.getByText('You are signed out in less than a minute').waitFor({ state: 'detached' });
    await page.clock.setFixedTime(now + 120 * 60_000);
    await page.getByText('Your session has ended').waitFor();
    await signInAgain();
    await page.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the console warns before an idle session ends even if the connection was lost in the meantime', async () => {
    const tab = await fixture.openSignedInTab('/app/settings?part=API%20keys');
    const { page } = tab;
    await page.getByRole('button', { name: 'New API key' }).waitFor();
    const now = Date.now();
    await page.clock.setFixedTime(now + 30 * 60_000);
    await page.context().setOffline(true);
    await page.getByText('the connection is lost').waitFor();
    const fetchedAgain = page.waitForResponse((answer) => answer.url().includes('/api/auth/sessions'));
    await page.context().setOffline(false);
    await (await fetchedAgain).finished();
    await page.clock.setFixedTime(now + 59.5 * 60_000);
    await page.getByText('You are signed out in less than a minute').waitFor();
    await tab.close();
  });

  it('the console does not redirect to another site after a sign-in', async () => {
    for (const from of ['https://example.com/', '//example.com', '/\\example.com', 'javascript:alert(1)']) {
      const tab = await fixture.openTab();
      await tab.goto(`/app/login?from=${encodeURIComponent(from)}`);
      await tab.signIn(...fixture.admin);
      await tab.page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
      expect([from, new URL(tab.page.url()).origin]).toEqual([from, fixture.address]);
      await tab.close();
    }
  });

  it('the console has a link that skips to the content, and restores the focus when a dialog closes', async () => {
    const tab = await fixture.openSignedInTab('/app/agents');
    const { page } = tab;
    await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
    const readFocusedLabel = () =>
      page.evaluate<string>('document.activeElement.getAttribute("aria-label") ?? document.activeElement.id');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await waitFor('the focus', async () => (await readFocusedLabel()) === 'content');
    await page.getByRole('button', { name: 'Report a bug or an idea' }).press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    for (let presses = 0; presses < 20; presses += 1) {
      await page.keyboard.press('Tab');
      expect(await page.evaluate('document.activeElement.closest("[role=dialog]") !== null')).toBe(true);
    }
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await waitFor('the focus', async () => (await readFocusedLabel()) === 'Report a bug or an idea');
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the console opens every page by the keyboard shortcut in its list of shortcuts', async () => {
    const tab = await fixture.openSignedInTab('/app', undefined, fixture.superAdmin);
    const { page } = tab;
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    const names = await page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts();
    await page.keyboard.press('?');
    const help = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await help.waitFor();
    const keys = await help.getByRole('term').allInnerTexts();
    const meanings = await help.getByRole('definition').allInnerTexts();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await page.keyboard.press('Escape');
    await help.waitFor({ state: 'detached' });
    for (const name of names) {
      const [first, second] = keys[meanings.indexOf(name)]!.split(/\s*/) as [string, string];
      await page.keyboard.press(first);
      await page.keyboard.press(second);
      await page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
    }
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the console uses the system’s or the chosen theme, which is all that the browser stores', async () => {
    const tab = await fixture.openSignedInTab('/app', { theme: 'dark' });
    const { page } = tab;
    const readBackgroundColor = () =>
      page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
    const dark = await readBackgroundColor();
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: 'Theme: light' }).click();
    await waitFor('the light', async () => (await readBackgroundColor()) !== dark);
    const light = await readBackgroundColor();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
    expect(await readBackgroundColor()).toBe(light);
    expect(await page.evaluate('Object.keys(localStorage)')).toEqual(['muster-theme']);
    await page.getByRole('button', { name: 'Account' }).click();
    await page.getByRole('menuitem', { name: 'Theme: system' }).click();
    await waitFor('the dark', async () => (await readBackgroundColor()) === dark);
    expect(await page.evaluate('Object.keys(localStorage)')).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the console keeps typed text when it reports that a save failed because the service is unreachable', async () => {
    const tab = await fixture.openSignedInTab('/app/settings?part=Limits');
    const { page } = tab;
    await page.getByLabel('Monthly run limit').fill('77');
    await page.context().setOffline(true);
    await page.getByText('the connection is lost').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').filter({ hasText: 'unreachable' }).waitFor();
    await page.context().setOffline(false);
    await page.getByText('the connection is lost').waitFor({ state: 'detached' });
    expect(await page.getByLabel('Monthly run limit').inputValue()).toBe('77');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('status').filter({ hasText: 'Saved.' }).waitFor();
    await tab.close();
  });
});
