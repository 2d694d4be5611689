import { waitFor } from '@muster/testing';
import { verified } from './receiver.harness';
import { WebhookLab } from './webhook-lab.harness';

jest.setTimeout(60_000);

describe('deliveries to an endpoint', () => {
  let lab: WebhookLab;

  beforeAll(async () => {
    lab = await WebhookLab.open();
  });
  afterAll(() => lab.close());

  it('contain a completed job as GET returns it, signed according to Standard Webhooks', async () => {
    const path = lab.path();
    const { id, secret } = await lab.endpoint(path, ['job.completed']);
    const jobId = await lab.run();
    const [told] = await lab.receiver.wait(path);
    expect(verified(secret, told!)).toEqual(told!.event);
    expect(() => verified(`whsec_${Buffer.alloc(32, 1).toString('base64')}`, told!)).toThrow();
    const { data, ...event } = told!.event;
    expect(event).toEqual({ type: 'job.completed', timestamp: expect.stringMatching(/^\d{4}-.*Z$/) });
    const { sequence, ...job } = data;
    const { totalCostUsd: _cost, ...shown } = (await lab.tenant.api.get(`/api/jobs/${jobId}`)).body;
    expect(job).toMatchObject(shown);
    expect(sequence).toEqual(expect.any(Number));
    const [delivery] = await waitFor('the delivery', async () => {
      const found = await lab.deliveries(id, '?status=delivered');
      return found.length > 0 && found;
    });
    expect(delivery).toEqual({
      id: told!.headers['webhook-id'],
      type: 'job.completed',
      status: 'delivered',
      attempts: [{ at: expect.any(String), statusCode: 204, durationMs: expect.any(Number), error: null }],
      nextAttemptAt: null,
      createdAt: expect.any(String),
    });
    const detail = await lab.admin.get(`/api/webhook-endpoints/${id}/deliveries/${delivery.id}`);
    expect(detail.body).toEqual({ ...delivery, body: told!.body });
  });

  it('contain only events that it subscribes to, with a sequence in the order of the job’s events', async () => {
    const [all, some] = [lab.path(), lab.path()];
    await lab.endpoint(all);
    await lab.endpoint(some, ['job.failed']);
    const jobId = await lab.run('failed');
    const told = (await lab.receiver.wait(all, 2)).filter(({ event }) => event.data.id === jobId);
    const bySequence = told.map(({ event }) => event).sort((a, b) => a.data.sequence - b.data.sequence);
    expect(bySequence.map(({ type }) => type)).toEqual(['job.started', 'job.failed']);
    expect((await lab.receiver.wait(some)).map(({ event }) => event.type)).toEqual(['job.failed']);
  });

  it('contain no events of another organization', async () => {
    const other = await lab.harness.makeTenant();
    const path = lab.path();
    const made = await other.as.admin.post('/api/webhook-endpoints', { url: lab.receiver.url + path, events: ['*'] });
    expect(made.status).toBe(201);
    await lab.run();
    await other.as.admin.post(`/api/webhook-endpoints/${made.body.id}/test`);
    const told = await lab.receiver.wait(path);
    expect(told.map(({ event }) => event.type)).toEqual(['webhook.test']);
    const own = `/api/webhook-endpoints/${made.body.id}`;
    for (const what of ['', '/deliveries', `/deliveries/${told[0]!.headers['webhook-id']}`]) {
      expect((await lab.admin.get(own + what)).status).toBe(404);
    }
  });

  it('are not prepared in a row for an event without a subscriber', async () => {
    const silent = await lab.harness.makeTenant();
    await silent.as.admin.post('/api/webhook-endpoints', { url: lab.receiver.url, events: ['pack.promoted'] });
    const { body } = await silent.as.admin.post('/api/agents', { name: 'Quiet', provider: 'external' });
    await silent.worker.post('/api/agents/handshake', {
      ...{ agentId: body.agent.id, bootId: 'boot-1', workerVersion: '1.0.0' },
    });
    expect((await silent.api.get(`/api/agents/${body.agent.id}`)).body.status).toBe('online');
    expect(await lab.rows('SELECT FROM webhook_event WHERE organization_id = $1', silent.organizationId)).toEqual([]);
  });
});
