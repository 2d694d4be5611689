import { waitFor } from '@muster/testing';
import { verifySignature } from './receiver.harness';
import { WebhookFixture } from './webhook-fixture.harness';

jest.setTimeout(60_000);

describe('deliveries to an endpoint', () => {
  let fixture: WebhookFixture;

  beforeAll(async () => {
    fixture = await WebhookFixture.open();
  });
  afterAll(() => fixture.close());

  it('a webhook about a completed job contains the job as GET returns it, signed according to Standard Webhooks', async () => {
    const path = fixture.generatePath();
    const { id, secret } = await fixture.createEndpoint(path, ['job.completed']);
    const jobId = await fixture.runJob();
    const [received] = await fixture.receiver.waitForDeliveries(path);
    expect(verifySignature(secret, received!)).toEqual(received!.event);
    expect(() => verifySignature(`whsec_${Buffer.alloc(32, 1).toString('base64')}`, received!)).toThrow();
    const { data, ...event } = received!.event;
    expect(event).toEqual({ type: 'job.completed', timestamp: expect.stringMatching(/^\d{4}-.*Z$/) });
    const { sequence, ...job } = data;
    const { totalCostUsd: _cost, ...expected } = (await fixture.tenant.api.get(`/api/jobs/${jobId}`)).body;
    expect(job).toMatchObject(expected);
    expect(sequence).toEqual(expect.any(Number));
    const [delivery] = await waitFor('the delivery', async () => {
      const found = await fixture.listDeliveries(id, '?status=delivered');
      return found.length > 0 && found;
    });
    expect(delivery).toEqual({
      id: received!.headers['webhook-id'],
      type: 'job.completed',
      status: 'delivered',
      attempts: [{ at: expect.any(String), statusCode: 204, durationMs: expect.any(Number), error: null }],
      nextAttemptAt: null,
      createdAt: expect.any(String),
    });
    const detail = await fixture.admin.get(`/api/webhook-endpoints/${id}/deliveries/${delivery.id}`);
    expect(detail.body).toEqual({ ...delivery, body: received!.body });
  });

  it('a webhook endpoint gets only events that it subscribes to, with a sequence in the order of the events', async () => {
    const [all, some] = [fixture.generatePath(), fixture.generatePath()];
    await fixture.createEndpoint(all);
    await fixture.createEndpoint(some, ['job.failed']);
    const jobId = await fixture.runJob('failed');
    const received = (await fixture.receiver.waitForDeliveries(all, 2)).filter(({ event }) => event.data.id === jobId);
    const bySequence = received.map(({ event }) => event).sort((a, b) => a.data.sequence - b.data.sequence);
    expect(bySequence.map(({ type }) => type)).toEqual(['job.started', 'job.failed']);
    expect((await fixture.receiver.waitForDeliveries(some)).map(({ event }) => event.type)).toEqual(['job.failed']);
  });

  it('a webhook endpoint receives no events of another organization', async () => {
    const other = await fixture.harness.makeTenant();
    const path = fixture.generatePath();
    const created = await other.as.admin.post('/api/webhook-endpoints', {
      url: fixture.receiver.url + path,
      events: ['*'],
    });
    expect(created.status).toBe(201);
    await fixture.runJob();
    await other.as.admin.post(`/api/webhook-endpoints/${created.body.id}/test`);
    const received = await fixture.receiver.waitForDeliveries(path);
    expect(received.map(({ event }) => event.type)).toEqual(['webhook.test']);
    const own = `/api/webhook-endpoints/${created.body.id}`;
    for (const suffix of ['', '/deliveries', `/deliveries/${received[0]!.headers['webhook-id']}`]) {
      expect((await fixture.admin.get(own + suffix)).status).toBe(404);
    }
  });

  it('no row is stored for an event that no webhook endpoint subscribes to', async () => {
    const silent = await fixture.harness.makeTenant();
    await silent.as.admin.post('/api/webhook-endpoints', { url: fixture.receiver.url, events: ['pack.promoted'] });
    const { body } = await silent.as.admin.post('/api/agents', { name: 'Quiet', provider: 'external' });
    await silent.worker.post('/api/agents/handshake', {
      ...{ agentId: body.agent.id, bootId: 'boot-1', workerVersion: '1.0.0' },
    });
    expect((await silent.api.get(`/api/agents/${body.agent.id}`)).body.status).toBe('online');
    expect(
      await fixture.querySql('SELECT FROM webhook_event WHERE organization_id = $1', silent.organizationId),
    ).toEqual([]);
  });
});
