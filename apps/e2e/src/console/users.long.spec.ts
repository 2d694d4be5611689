// This test is long because it operates several pages in a browser.
// A short test of the same code: apps/standalone/src/webhooks/account-links.spec.ts
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(180_000);

describeInBrowser('users of the console', () => {
  let fixture: ConsoleFixture;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
  });
  afterAll(() => fixture?.end());

  it('the settings invite a user with a role, change the role, and disable the user', async () => {
    const tab = await fixture.openSignedInTab('/app/settings?part=Users');
    const { page } = tab;
    await page.getByRole('button', { name: 'Invite user' }).click();
    const dialog = page.getByRole('dialog', { name: 'Invite user' });
    await dialog.getByLabel('Email').fill('dana@example.com');
    await dialog.getByLabel('Role').selectOption('viewer');
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await dialog.getByRole('button', { name: 'Invite' }).click();
    const invited = page.getByRole('dialog', { name: 'Invitation for dana@example.com' });
    const link = (await invited.locator('pre').innerText()).trim();
    await invited.getByRole('button', { name: 'Close' }).click();
    const guest = await fixture.openTab();
    await guest.goto(`/app/invitation${new URL(link).hash}`);
    await guest.page.getByLabel('New password').fill('a good password');
    expect(await guest.findBarriersInBothThemes()).toEqual([]);
    await guest.page.getByRole('button', { name: 'Create account' }).click();
    await guest.page.getByText('Your account is ready').waitFor();
    await guest.close();
    await page.reload();
    const row = page.getByRole('row', { name: /dana@example.com/ });
    await row.getByText('viewer').waitFor();
    const dana = await fixture.openSignedInTab('/app', undefined, ['dana@example.com', 'a good password']);
    await page.getByRole('button', { name: 'Actions for dana@example.com' }).click();
    await page.getByRole('menuitem', { name: 'Make member' }).click();
    await row.getByText('member').waitFor();
    await page.getByRole('button', { name: 'Actions for dana@example.com' }).click();
    await page.getByRole('menuitem', { name: 'Disable' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disable' }).click();
    await row.getByText('disabled').waitFor();
    await dana.page.getByRole('button', { name: 'Sign in' }).waitFor();
    await dana.close();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('a role that an admin makes is offered for invitations, and its user sees the pages that it allows', async () => {
    const tab = await fixture.openSignedInTab('/app/settings?part=Roles');
    const { page } = tab;
    await page.getByRole('row', { name: /super_admin/ }).waitFor();
    await page.getByRole('button', { name: 'New role' }).click();
    const dialog = page.getByRole('dialog', { name: 'New role' });
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Scheduler');
    await dialog.getByLabel('See schedules').check();
    await dialog.getByLabel('Change schedules and run them now').check();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await dialog.getByRole('button', { name: 'Create role' }).click();
    await page
      .getByRole('row', { name: /Scheduler/ })
      .getByText('2 permissions')
      .waitFor();
    await tab.goto('/app/settings?part=Users');
    await page.getByRole('button', { name: 'Invite user' }).click();
    await page.getByRole('dialog').getByLabel('Role').selectOption('Scheduler');
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    const person = await fixture.inviteUser('Scheduler');
    const guest = await fixture.openSignedInTab('/app', undefined, person);
    const places = await guest.page.getByRole('navigation', { name: 'Main' }).getByRole('link').allInnerTexts();
    expect(places).toEqual(['Home', 'Schedules', 'Settings']);
    await guest.goto('/app/schedules');
    await guest.page.getByRole('button', { name: 'New schedule' }).waitFor();
    await guest.close();
    await tab.goto('/app/settings?part=Roles');
    await page.getByRole('button', { name: 'Actions for Scheduler' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Give them another role before you delete this one.').waitFor();
    await tab.close();
  });

  it('users, API keys and sessions fit a phone, also with long names', async () => {
    const api = await fixture.createApiClient();
    const [email, name] = [`${'front-office.'.repeat(4)}desk@example.com`, 'nightly export '.repeat(6).trim()];
    const user = { email, password: 'a good password', role: 'viewer' };
    expect((await api.post('/api/users', user)).status).toBe(201);
    const key = { name, scope: 'api', role: 'viewer', ipAllow: ['203.0.113.0/24'] };
    expect((await api.post('/api/api-keys', key)).status).toBe(201);
    const tab = await fixture.openSignedInTab('/app/settings?part=Users', { width: 390, height: 844 });
    const { page } = tab;
    for (const [path, item, value, action] of [
      ['/app/settings?part=Users', email, 'viewer', 'Make member'],
      ['/app/settings?part=API+keys', name, 'only from 203.0.113.0/24', 'Revoke'],
    ] as const) {
      await tab.goto(path);
      const row = page.getByRole('row').filter({ hasText: item });
      const menu = row.getByRole('button', { name: `Actions for ${item}` });
      for (const element of [row, row.getByText(value), menu]) {
        const { x, width } = (await element.boundingBox())!;
        expect([item, x >= 0, x + width <= 390]).toEqual([item, true, true]);
      }
      expect(await tab.measureOverflow()).toBe(0);
      expect(await tab.findBarriersInBothThemes()).toEqual([]);
      await menu.click();
      await page.getByRole('menuitem', { name: action }).waitFor();
      await page.keyboard.press('Escape');
    }
    await tab.goto('/app/settings?part=Security');
    // The session of the client of the API.
    const other = page
      .getByRole('row')
      .filter({ hasNotText: 'this one' })
      .getByRole('button', { name: /^Actions for / });
    const { x, width } = (await other.first().boundingBox())!;
    expect([x >= 0, x + width <= 390]).toEqual([true, true]);
    await other.first().click();
    await page.getByRole('menuitem', { name: 'End session' }).waitFor();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the sign-in page leads to the page for a forgotten password, which answers every address alike', async () => {
    const tab = await fixture.openTab();
    const { page } = tab;
    await tab.goto('/app/login');
    await page.getByRole('link', { name: 'Forgot your password?' }).click();
    // The sign-in page, which stays until the next page is loaded, has a field with the same name.
    await page.getByRole('heading', { name: 'Forgot your password?' }).waitFor();
    await page.getByLabel('Email').fill('nobody@example.com');
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await page.getByRole('button', { name: 'Send a link' }).click();
    await page.getByText('This service sends no mail').waitFor();
    await tab.goto('/app/reset#token=mal_wrong');
    await page.getByLabel('New password').fill('a good password');
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.getByText('This link is not valid').waitFor();
    await tab.close();
  });
});
