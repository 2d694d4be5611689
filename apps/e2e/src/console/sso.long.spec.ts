// This test is long because it operates the pages of single sign-on in a browser.
// A short test of the same code: apps/gateway/src/auth/sso.spec.ts
import { RealProvider, ssoClient } from '@muster/testing';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(180_000);

describeInBrowser('single sign-on in the console', () => {
  let fixture: ConsoleFixture;
  let provider: RealProvider;
  const domain = `acme-${process.pid}.test`;
  const email = `dana@${domain}`;

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
    provider = await RealProvider.start(`${fixture.address}/api/auth/sso/callback`);
    provider.accounts['dana'] = { email, email_verified: true };
  });
  afterAll(async () => {
    await fixture?.end();
    await provider?.close();
  });

  it('an admin sets up single sign-on, and a user signs in with it from the sign-in page', async () => {
    const tab = await fixture.openSignedInTab('/app/settings?part=Sign-in');
    const { page } = tab;
    await page.getByLabel('Issuer').fill(provider.issuer);
    await page.getByLabel('Client ID').fill(ssoClient.id);
    await page.getByLabel('Client secret').fill('wrong secret');
    await page.getByLabel('Email domains').fill(domain);
    const form = page.locator('form', { has: page.getByLabel('Issuer') });
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByText('not proved').waitFor();
    await page.getByText(`_muster-challenge.${domain}`).waitFor();
    await page.getByRole('button', { name: 'Test the saved provider' }).click();
    await page.getByText('it does not accept the client ID or the client secret').waitFor();
    await page.getByLabel('Client secret').fill(ssoClient.secret);
    await form.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Test the saved provider' }).click();
    await page.getByText('The provider answers and accepts').waitFor();
    expect(await tab.findBarriersInBothThemes()).toEqual([]);

    const me = (await (await fixture.createApiClient()).get('/api/auth/me')).body;
    const root = await fixture.createApiClient(fixture.superAdmin);
    const proved = await root.patch(`/api/admin/organizations/${me.organization.id}`, { domains: [domain] });
    expect(proved.status).toBe(200);
    await page.reload();
    await page.getByText('by the operator').waitFor();
    await tab.close();

    const user = await fixture.openTab();
    await user.goto('/app/login');
    await user.page.getByRole('button', { name: 'Continue with single sign-on' }).click();
    await user.page.getByLabel('Email').fill(`dana@unknown-${domain}`);
    await user.page.getByRole('button', { name: 'Continue' }).click();
    await user.page.getByText('Single sign-on is not set up for this email domain.').waitFor();
    await user.page.getByRole('button', { name: 'Continue with single sign-on' }).click();
    expect(await user.findBarriersInBothThemes()).toEqual([]);
    await user.page.getByLabel('Email').fill(email);
    await user.page.getByRole('button', { name: 'Continue' }).click();
    await user.page.waitForURL(`${fixture.address}/app`);
    await user.page.getByRole('button', { name: 'Account' }).click();
    await user.page.getByText(email).waitFor();
    await user.close();
  });
});
