import type { ServerResponse } from 'node:http';
import { Metrics } from '@muster/platform';
import { waitFor } from '@muster/testing';
import { WebhookFixture } from './webhook-fixture.harness';

jest.setTimeout(120_000);

describe('the metrics of webhooks', () => {
  let fixture: WebhookFixture;

  beforeAll(async () => {
    fixture = await WebhookFixture.open();
  });
  afterAll(() => fixture.close());

  const readMetricValue = async (name: string, labels: Record<string, string> = {}): Promise<number> => {
    const { registry } = fixture.harness.app.nest.get(Metrics, { strict: false });
    const line = `${name}${Object.keys(labels).length ? `{${Object.entries(labels).map(([key, value]) => `${key}="${value}"`)}}` : ''} `;
    const text = (await registry.metrics()).split('\n').find((each) => each.startsWith(line));
    if (!text) throw new Error(`there is no ${line}`);
    return Number(text.slice(line.length));
  };
  const countAttempts = (outcome: string) => readMetricValue('muster_webhook_attempt_seconds_count', { outcome });
  const countTurnedOffEndpoints = (reason: string) =>
    readMetricValue('muster_webhook_endpoints_turned_off_total', { reason });
  const sendTestEvent = async (path: string) => {
    const { id } = await fixture.createEndpoint(path, ['pack.promoted']);
    await fixture.admin.post(`/api/webhook-endpoints/${id}/test`);
    return id;
  };

  it('webhook metrics exist before the first event, so that the first increase is visible', async () => {
    for (const outcome of ['delivered', 'retried', 'dead']) expect(await countAttempts(outcome)).toBe(0);
    for (const reason of ['gone', 'failing']) expect(await countTurnedOffEndpoints(reason)).toBe(0);
    expect(await readMetricValue('muster_webhook_deliveries_due')).toBe(0);
  });

  it('webhook metrics count attempts by outcome, and turned-off endpoints by reason', async () => {
    const [refusing, gone] = [fixture.generatePath(), fixture.generatePath()];
    fixture.receiver.answers.set(refusing, (response) => response.writeHead(500).end());
    fixture.receiver.answers.set(gone, (response) => response.writeHead(410).end());
    await sendTestEvent(fixture.generatePath());
    await sendTestEvent(refusing);
    await sendTestEvent(gone);
    await waitFor('all three', async () => {
      return (
        (await countAttempts('delivered')) === 1 &&
        (await countAttempts('retried')) === 1 &&
        (await countAttempts('dead')) === 1
      );
    });
    expect([await countTurnedOffEndpoints('gone'), await countTurnedOffEndpoints('failing')]).toEqual([1, 0]);
    const seconds = await readMetricValue('muster_webhook_attempt_seconds_sum', { outcome: 'delivered' });
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThan(10);
  });

  it('webhook metrics show due deliveries until the deliveries are sent', async () => {
    const path = fixture.generatePath();
    const held: ServerResponse[] = [];
    fixture.receiver.answers.set(path, (response) => void held.push(response));
    const id = await sendTestEvent(path);
    for (let more = 0; more < 4; more += 1) await fixture.admin.post(`/api/webhook-endpoints/${id}/test`);
    await waitFor(
      'the waiting deliveries to be counted',
      async () => (await readMetricValue('muster_webhook_deliveries_due')) > 0,
    );
    fixture.receiver.answers.delete(path);
    for (const response of held) response.writeHead(204).end();
    await waitFor('no delivery to wait', async () => (await readMetricValue('muster_webhook_deliveries_due')) === 0);
  });
});
