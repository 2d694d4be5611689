// This test is long because it operates one page in a browser.
// A short test of the same code: apps/standalone/src/webhooks/channels.spec.ts
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(240_000);

describeInBrowser('the page of notification channels', () => {
  let fixture: ConsoleFixture;
  let receiver: Server;
  let status = 200;
  const received: string[] = [];

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
    receiver = createServer((request, response) => {
      request.resume().on('end', () => {
        received.push(request.url!);
        response.writeHead(status).end('ok');
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    await fixture?.end();
    receiver?.closeAllConnections();
    await new Promise((resolve) => receiver.close(resolve));
  });

  it('an admin creates, tests, changes and deletes channels on a phone, and reads each result in plain words', async () => {
    const tab = await fixture.openSignedInTab('/app/settings?part=Alerts', { width: 390, height: 844 });
    const { page } = tab;
    await page.getByRole('link', { name: 'Channels', exact: true }).click();
    await page.getByText('No channels yet.').waitFor();
    // The tab bar is wider than the window, and is scrolled to the current tab.
    const part = (await page.getByRole('tab', { name: 'Channels', selected: true }).boundingBox())!;
    expect([part.x >= 0, part.x + part.width <= 390]).toEqual([true, true]);
    expect(await tab.findBarriers()).toEqual([]);
    const origin = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;

    await page.getByRole('button', { name: 'New channel' }).click();
    const making = page.getByRole('dialog', { name: 'New channel' });
    await making.getByLabel('Name').fill('Front desk');
    await making.getByLabel('Kind').selectOption('slack');
    await making.getByLabel('Address').fill('http://10.1.2.3/inside');
    await making.getByLabel('alert.resolved').check();
    await making.getByLabel('Severity').selectOption('error');
    await making.getByRole('button', { name: 'Create channel' }).click();
    await making.getByText('10.1.2.3 is not a public address').first().waitFor();
    expect(await tab.findBarriers()).toEqual([]);
    await making.getByLabel('Address').fill(`${origin}/services/secret-path`);
    await making.getByRole('button', { name: 'Create channel' }).click();
    const row = page.getByTestId('notification-channel').filter({ hasText: 'Front desk' });
    await row.getByText('filtered').waitFor();
    await row.getByText('job.failed, question.asked, alert.resolved').waitFor();
    expect(await page.content()).not.toContain('secret-path');
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    expect(overflow).toBeLessThanOrEqual(0);

    const chooseChannelAction = async (name: string, channel = 'Front desk') => {
      await page.getByRole('button', { name: `Actions for ${channel}` }).click();
      await page.getByRole('menuitem', { name, exact: true }).click();
    };
    const testing = page.getByRole('dialog', { name: 'Test of Front desk' });
    await chooseChannelAction('Send test');
    await testing.getByText('Slack accepted the message.').waitFor();
    expect(await tab.findBarriers()).toEqual([]);
    await testing.getByRole('button', { name: 'Close' }).last().click();
    await row.getByText('Slack accepted the message.').waitFor();
    status = 404;
    await chooseChannelAction('Send test');
    await testing.getByText('Create a new incoming webhook in Slack').waitFor();
    await testing.getByRole('button', { name: 'Close' }).last().click();

    // The form does not show the stored address, and an empty field keeps it.
    status = 200;
    await chooseChannelAction('Change');
    const changing = page.getByRole('dialog', { name: 'Change channel' });
    expect(await changing.getByLabel('Address').inputValue()).toBe('');
    expect(await changing.getByLabel('Severity').inputValue()).toBe('error');
    await changing.getByLabel('All events').check();
    await changing.getByLabel('Severity').selectOption('');
    await changing.getByRole('button', { name: 'Save' }).click();
    await row.getByText('all events').waitFor();
    await row.getByText('filtered').waitFor({ state: 'detached' });
    await chooseChannelAction('Send test');
    await testing.getByText('Slack accepted the message.').waitFor();
    await testing.getByRole('button', { name: 'Close' }).last().click();
    expect(received).toEqual(Array.from({ length: 3 }, () => '/services/secret-path'));

    await page.getByRole('button', { name: 'New channel' }).click();
    await making.getByLabel('Name').fill('Billing system');
    await making.getByLabel('Kind').selectOption('webhook');
    await making.getByLabel('Address').fill(`${origin}/hooks`);
    await making.getByRole('button', { name: 'Create channel' }).click();
    const secretDialog = page.getByRole('dialog', { name: 'Signing secret' });
    const secret = (await secretDialog.locator('pre').textContent())!;
    expect(secret).toMatch(/^whsec_/);
    await secretDialog.getByRole('button', { name: 'Done' }).click();
    await page.reload();
    await page.getByTestId('notification-channel').filter({ hasText: 'Billing system' }).waitFor();
    expect(await page.content()).not.toContain(secret);

    // The form of an alert rule offers the channel.
    await page.getByRole('link', { name: 'Alerts', exact: true }).click();
    await page.getByTestId('alert-rule').filter({ hasText: 'Run failed' }).getByRole('button').click();
    await page.getByRole('dialog', { name: 'Run failed' }).getByLabel('Front desk').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Channels', exact: true }).click();
    for (const name of ['Front desk', 'Billing system']) {
      await chooseChannelAction('Delete', name);
      await page.getByRole('dialog', { name: 'Delete this channel?' }).getByRole('button', { name: 'Delete' }).click();
      await page.getByTestId('notification-channel').filter({ hasText: name }).waitFor({ state: 'detached' });
    }
    await page.getByText('No channels yet.').waitFor();
    await tab.close();
  });
});
