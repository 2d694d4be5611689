// This test is long because it operates one page in a browser.
// A short test of the same code: apps/standalone/src/webhooks/endpoints.spec.ts
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from '@muster/testing';
import { Webhook } from 'standardwebhooks';
import { ConsoleFixture, describeInBrowser } from './console-fixture';

jest.setTimeout(240_000);

describeInBrowser('the page of webhooks', () => {
  let fixture: ConsoleFixture;
  let receiver: Server;
  let status = 204;
  const received: { headers: Record<string, string>; body: string }[] = [];

  beforeAll(async () => {
    fixture = await ConsoleFixture.start();
    receiver = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        received.push({ headers: request.headers as Record<string, string>, body });
        response.writeHead(status).end();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    await fixture?.end();
    receiver?.closeAllConnections();
    await new Promise((resolve) => receiver.close(resolve));
  });

  it('the page of webhooks tests an endpoint, repeats a delivery, and shows why an endpoint is off', async () => {
    const tab = await fixture.openSignedInTab('/app/settings?part=Webhooks');
    const { page } = tab;
    await page.getByText('No endpoints yet.').waitFor();
    await page.getByRole('button', { name: 'New endpoint' }).click();
    const making = page.getByRole('dialog', { name: 'New endpoint' });
    await making.getByLabel('Address').fill('http://10.1.2.3/inside');
    await making.getByRole('button', { name: 'Create endpoint' }).click();
    await making.getByText('10.1.2.3 is not a public address').first().waitFor();
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks`;
    await making.getByLabel('Address').fill(url);
    await making.getByLabel('All events').uncheck();
    await making.getByLabel('job.failed').check();
    await making.getByRole('button', { name: 'Create endpoint' }).click();
    const secretDialog = page.getByRole('dialog', { name: 'Signing secret' });
    const secret = (await secretDialog.locator('pre').textContent())!;
    await secretDialog.getByRole('button', { name: 'Done' }).click();

    const row = page.getByTestId('webhook-endpoint').filter({ hasText: url });
    await row.getByText('job.failed').waitFor();
    const chooseEndpointAction = async (name: string) => {
      await page.getByRole('button', { name: `Actions for ${url}` }).click();
      await page.getByRole('menuitem', { name }).click();
    };
    await chooseEndpointAction('Send test');
    const delivery = page.getByTestId('webhook-delivery').filter({ hasText: 'webhook.test' }).first();
    await delivery.getByText('delivered').waitFor();
    new Webhook(secret).verify(received[0]!.body, received[0]!.headers);
    expect(await tab.findBarriers()).toEqual([]);

    await delivery.getByRole('button', { name: 'webhook.test' }).click();
    const one = page.getByRole('dialog', { name: 'webhook.test' });
    await one.getByText('This is a test of your webhook endpoint.').waitFor();
    await one.getByRole('cell', { name: '204', exact: true }).waitFor();
    expect(await tab.findBarriers()).toEqual([]);
    await one.getByRole('button', { name: 'Redeliver' }).click();
    await waitFor('the delivery to be repeated', () => received.length === 2);
    expect(received[1]!.headers['webhook-id']).toBe(received[0]!.headers['webhook-id']);

    status = 410;
    await chooseEndpointAction('Send test');
    await waitFor('the test', () => received.length === 3);
    const api = await fixture.createApiClient();
    await waitFor('the endpoint to be turned off', async () => {
      const { body } = await api.get('/api/webhook-endpoints');
      return body.webhookEndpoints[0].enabled === false;
    });
    await page.reload();
    await row.getByText('turned off: the receiver returned 410').waitFor();
    await row.getByText('disabled').waitFor();
    await chooseEndpointAction('Turn on');
    await row.getByText('enabled').waitFor();

    await chooseEndpointAction('Delete');
    await page.getByRole('dialog', { name: 'Delete this endpoint?' }).getByRole('button', { name: 'Delete' }).click();
    await page.getByText('No endpoints yet.').waitFor();
    await tab.close();
  });
});
