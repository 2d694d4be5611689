// This test is long because it operates one page in a browser.
// A short test of the same code: apps/gateway/src/auth/second-factor.spec.ts
import { computeAuthenticatorCode, waitFor } from '@muster/testing';
import { ConsoleTab } from './console-browser';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(180_000);

describeInBrowser('a second factor in the console', () => {
  let fixture: ConsoleFixture;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
  });
  afterAll(() => fixture?.end());

  /** Backdates the proof of the second factor, so that it has expired. */
  const expireProof = (email: string) =>
    fixture.queryDatabase(
      `WITH aged AS (
         UPDATE user_session SET second_factor_at = second_factor_at - interval '1 hour'
         WHERE user_id = (SELECT id FROM app_user WHERE email = $1) RETURNING id)
       SELECT pg_notify('muster_access', '') FROM aged`,
      [email],
    );

  it('an authenticator app as second factor is required at sign-in, and again before sensitive actions', async () => {
    const [email, password] = await fixture.inviteUser('admin');
    const tab = await fixture.openSignedInTab('/app/settings?part=Security', undefined, [email, password]);
    const { page } = tab;
    await page.getByRole('button', { name: 'Set up' }).click();
    const dialog = page.getByRole('dialog', { name: 'Set up a second factor' });
    await dialog.getByRole('button', { name: 'Set up' }).click();
    const qrCode = dialog.getByRole('img', { name: 'The secret as a QR code' });
    await waitFor('the image to load', () =>
      qrCode.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth > 0),
    );
    const secret = (await dialog.getByLabel('Secret').textContent())!;
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await dialog.getByLabel('Code that the app shows').fill('000000');
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    await dialog.getByText('The code is wrong').waitFor();
    await dialog.getByLabel('Code that the app shows').fill(computeAuthenticatorCode(secret, new Date()));
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    const [recoveryCode] = (await dialog.getByLabel('Recovery codes').textContent())!.split('\n');
    await dialog.getByRole('button', { name: 'I have saved them' }).click();
    await page.getByText('Recovery codes left').waitFor();
    await tab.close();

    const next = await fixture.openTab();
    await next.goto('/app/settings?part=API%20keys');
    await next.page.getByLabel('Email').fill(email);
    await next.page.getByLabel('Password').fill(password);
    await next.page.getByRole('button', { name: 'Sign in' }).click();
    await next.page.getByLabel('Code from your authenticator app').fill('000000');
    await next.page.getByRole('button', { name: 'Sign in' }).click();
    await next.page.getByText('The code is wrong').waitFor();
    expect(await next.findBarriersInBothThemes()).toEqual([]);
    await next.page.getByRole('button', { name: 'Use a recovery code' }).click();
    await next.page.getByLabel('Recovery code').fill(recoveryCode!);
    await next.page.getByRole('button', { name: 'Sign in' }).click();
    await next.page.getByRole('button', { name: 'New API key' }).click();
    await expireProof(email);
    await next.page.getByLabel('Name').fill('proved');
    await next.page.getByRole('button', { name: 'Create key' }).click();
    const proof = next.page.getByRole('dialog', { name: 'Confirm your identity' });
    await proof.getByLabel('Code from your authenticator app').fill(computeAuthenticatorCode(secret, new Date(), 1));
    await proof.getByRole('button', { name: 'Continue' }).click();
    await next.page.getByText(/msk_/).first().waitFor();
    expect([...tab.complaints, ...next.complaints]).toEqual([]);
    await next.close();
  });

  it('a passkey signs in without a password, confirms sensitive actions, and can be removed', async () => {
    const [email, password] = await fixture.inviteUser('admin');
    const tab = await ConsoleTab.open(fixture.browser, fixture.address.replace('127.0.0.1', 'localhost'));
    const { page } = tab;
    const devTools = await page.context().newCDPSession(page);
    await devTools.send('WebAuthn.enable');
    const device = {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
    } as const;
    await devTools.send('WebAuthn.addVirtualAuthenticator', {
      options: { ...device, isUserVerified: true, automaticPresenceSimulation: true },
    });
    await tab.goto('/app/settings?part=Security');
    await tab.signIn(email, password);
    const addPasskeyOnPage = async (name: string) => {
      await page.getByRole('button', { name: 'Add a passkey' }).click();
      await page.getByLabel('Name').fill(name);
      await page.getByRole('button', { name: 'Add', exact: true }).click();
    };
    await addPasskeyOnPage('Telephone');
    await page.getByRole('cell', { name: 'Telephone', exact: true }).waitFor();
    await page.getByText('none: your password alone').waitFor({ state: 'detached' });
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await addPasskeyOnPage('Telephone again');
    await page.getByText('This device already has a passkey of your account').waitFor();
    await page.keyboard.press('Escape');

    await page.context().clearCookies();
    await tab.goto('/app/settings?part=Security');
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('requires a passkey in addition to the password').waitFor();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);
    await page.getByRole('button', { name: 'Back' }).click();
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByRole('cell', { name: 'Telephone', exact: true }).waitFor();
    await expireProof(email);
    await page.getByRole('button', { name: 'Actions for Telephone' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page
      .getByRole('dialog', { name: 'Confirm your identity' })
      .getByRole('button', { name: 'Use a passkey' })
      .click();
    await page.getByText('You have no passkey').waitFor();
    await page.context().clearCookies();
    await tab.goto('/app');
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByText('The passkey was not accepted').waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the console names the address to open if a passkey cannot be used because the page is opened at an IP address', async () => {
    const tab = await fixture.openTab();
    await tab.goto('/app');
    await tab.page.getByRole('button', { name: 'Use a passkey' }).click();
    const address = fixture.address.replace('127.0.0.1', 'localhost');
    await tab.page.getByText(`Passkeys of this service work at ${address} and not at 127.0.0.1`).waitFor();
    expect(tab.complaints).toEqual([]);
    await tab.close();
  });

  it('the console suggests a second factor to an admin whose console address others can reach, but not on 127.0.0.1', async () => {
    const near = await fixture.openSignedInTab('/app');
    const exposed = fixture.address.replace('127.0.0.1', 'muster.localhost');
    const far = await ConsoleTab.open(fixture.browser, exposed);
    await far.goto('/app');
    await far.signIn(...fixture.admin);
    const note = far.page.getByRole('note', { name: 'Second factor' });
    await note.getByRole('link', { name: 'Set up a second factor' }).click();
    await far.page.getByText('your password alone signs you in').waitFor();
    expect(await far.findBarriersInBothThemes()).toEqual([]);
    await note.getByRole('button', { name: 'Later' }).click();
    await note.waitFor({ state: 'detached' });
    expect(await near.page.getByRole('note', { name: 'Second factor' }).count()).toBe(0);
    expect([...near.complaints, ...far.complaints]).toEqual([]);
    await far.close();
    await near.close();
  });

  it('a second factor that the organization requires is set up at sign-in; an admin can reset it', async () => {
    const [email, password] = await fixture.inviteUser('viewer');
    const admin = await fixture.createApiClient();
    const tab = await fixture.openSignedInTab('/app/settings?part=Sign-in');
    await tab.page.getByLabel('Require a second factor').check();
    const signIn = tab.page.getByRole('region', { name: 'Sign-in' });
    await signIn.getByRole('button', { name: 'Save' }).click();
    await tab.page.getByRole('status').filter({ hasText: 'Saved.' }).waitFor();
    const other = await fixture.openTab();
    try {
      const { page } = other;
      await other.goto('/app');
      await page.getByLabel('Email').fill(email);
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByText('Your account requires a second factor').waitFor();
      await page.getByRole('button', { name: 'Set up' }).click();
      const secret = (await page.getByLabel('Secret').textContent())!;
      await page.getByLabel('Code that the app shows').fill(computeAuthenticatorCode(secret, new Date()));
      await page.getByRole('button', { name: 'Confirm' }).click();
      await page.getByRole('button', { name: 'I have saved them' }).click();
      await page.getByRole('navigation', { name: 'Main' }).waitFor();
    } finally {
      await admin.patch('/api/organization/settings', { requireSecondFactor: false });
    }
    await tab.page.getByRole('tab', { name: 'Users', exact: true }).click();
    const row = tab.page.getByRole('row', { name: new RegExp(email) });
    await row.getByRole('cell', { name: 'yes', exact: true }).waitFor();
    await tab.page.getByRole('button', { name: `Actions for ${email}` }).click();
    await tab.page.getByRole('menuitem', { name: 'Reset second factor' }).click();
    await tab.page.getByRole('dialog').getByRole('button', { name: 'Reset' }).click();
    await row.getByRole('cell', { name: 'no', exact: true }).waitFor();
    await other.page.getByRole('link', { name: 'Runs', exact: true }).click();
    await other.page.getByText('Your session has ended').waitFor();
    expect([...tab.complaints, ...other.complaints]).toEqual([]);
    await other.close();
    await tab.close();
  });
});
