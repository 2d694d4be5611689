// This test is long because it waits for the retries of a delivery.
// A short test of the same code: libs/webhooks/src/deliveries/claim-delivery.spec.ts
import { FakeClock, waitFor } from '@muster/testing';
import { WebhookFixture } from './webhook-fixture.harness';

jest.setTimeout(120_000);

const base = '/api/webhook-endpoints';
const hourMs = 3_600_000;

/** The test advances the service's clock, so that it does not have to wait for long delays. */
describe('a receiver with faults', () => {
  const clock = new FakeClock(new Date());
  let fixture: WebhookFixture;

  beforeAll(async () => {
    fixture = await WebhookFixture.open({}, clock);
  });
  afterAll(() => fixture.close());

  const sendTestEvent = async (path: string) => {
    const { id } = await fixture.createEndpoint(path, ['pack.promoted']);
    const { deliveryId } = (await fixture.admin.post(`${base}/${id}/test`)).body;
    const readDelivery = async () => (await fixture.admin.get(`${base}/${id}/deliveries/${deliveryId}`)).body;
    const waitForAttempts = (attempts: number) =>
      waitFor(`${attempts} attempts`, async () => {
        const delivery = await readDelivery();
        return delivery.attempts.length === attempts && delivery;
      });
    return {
      id,
      deliveryId,
      read: readDelivery,
      after: waitForAttempts,
      endpoint: async () => (await fixture.admin.get(`${base}/${id}`)).body,
    };
  };

  it('a webhook receiver that always fails gets eight attempts over 32 hours, and none too early', async () => {
    const path = fixture.generatePath();
    fixture.receiver.answers.set(path, (response) => response.writeHead(503).end('not now'));
    const { id, after, endpoint, read } = await sendTestEvent(path);
    const waits = [5, 300, 1800, 7200, 18_000, 36_000, 50_400];
    for (const [at, seconds] of waits.entries()) {
      const { status, nextAttemptAt } = await after(at + 1);
      const inMs = Date.parse(nextAttemptAt) - clock.now().getTime();
      expect(status).toBe('pending');
      expect(inMs).toBeGreaterThanOrEqual(seconds * 1000);
      expect(inMs).toBeLessThanOrEqual(seconds * 1100);
      clock.advance(inMs - 1);
      await fixture.tenant.signInAgain();
      // Waits until the loop has checked for due deliveries and found none.
      await new Promise((resolve) => setTimeout(resolve, at === 0 ? 1500 : 0));
      expect((await read()).attempts).toHaveLength(at + 1);
      clock.advance(1);
    }
    const dead = await after(8);
    expect(dead).toMatchObject({ status: 'dead', nextAttemptAt: null });
    expect(new Set(dead.attempts.map(({ statusCode }: any) => statusCode))).toEqual(new Set([503]));
    expect(await endpoint()).toMatchObject({ enabled: true, failingSince: expect.any(String) });
    fixture.receiver.answers.delete(path);
    await fixture.admin.post(`${base}/${id}/deliveries/${dead.id}/redeliver`);
    expect(await after(9)).toMatchObject({ status: 'delivered' });
    expect(await endpoint()).toMatchObject({ enabled: true, failingSince: null });
  });

  it('a webhook receiver that fails only at first gets the delivery in the end', async () => {
    const path = fixture.generatePath();
    const codes = [500, 429, 204];
    fixture.receiver.answers.set(path, (response) => response.writeHead(codes.shift() ?? 204).end());
    const { after } = await sendTestEvent(path);
    for (const attempts of [1, 2]) {
      await after(attempts);
      clock.advance(hourMs);
      await fixture.tenant.signInAgain();
    }
    expect(await after(3)).toMatchObject({
      status: 'delivered',
      attempts: [{ statusCode: 500 }, { statusCode: 429 }, { statusCode: 204 }],
    });
  });

  it('the redirect of a webhook receiver is not followed', async () => {
    const [path, elsewhere] = [fixture.generatePath(), fixture.generatePath()];
    fixture.receiver.answers.set(path, (response) => response.writeHead(302, { location: elsewhere }).end());
    const { after } = await sendTestEvent(path);
    expect(await after(1)).toMatchObject({ status: 'pending', attempts: [{ statusCode: 302, error: null }] });
    expect(fixture.receiver.listReceivedAt(elsewhere)).toEqual([]);
  });

  it('a webhook delivery stays pending if the receiver closes the connection before or during its answer', async () => {
    const [half, none] = [fixture.generatePath(), fixture.generatePath()];
    fixture.receiver.answers.set(half, (response) => {
      response.writeHead(200, { 'content-length': '100' }).write('{"some"');
      setTimeout(() => response.destroy(), 20);
    });
    fixture.receiver.answers.set(none, (response) => response.destroy());
    const [one, other] = [await sendTestEvent(half), await sendTestEvent(none)];
    expect(await one.after(1)).toMatchObject({
      status: 'pending',
      attempts: [{ statusCode: 200, error: expect.any(String) }],
    });
    expect(await other.after(1)).toMatchObject({
      status: 'pending',
      attempts: [{ statusCode: null, error: expect.any(String) }],
    });
  });

  it('a webhook delivery succeeds once the beginning of the answer was read, even if the answer does not end', async () => {
    const path = fixture.generatePath();
    let written = 0;
    fixture.receiver.answers.set(path, (response) => {
      response.writeHead(200);
      const writeUntilBackpressure = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384))) written += 16_384;
        if (!response.destroyed) response.once('drain', writeUntilBackpressure);
      };
      writeUntilBackpressure();
    });
    const { after } = await sendTestEvent(path);
    expect(await after(1)).toMatchObject({ status: 'delivered' });
    expect(written).toBeLessThan(16 * 1024 * 1024);
  });

  it('an attempt to deliver a webhook times out after ten seconds if the receiver hangs', async () => {
    const path = fixture.generatePath();
    fixture.receiver.answers.set(path, () => undefined);
    const { after } = await sendTestEvent(path);
    const { attempts } = await after(1);
    expect(attempts).toMatchObject([{ statusCode: null, error: 'no complete response within 10000 ms' }]);
    expect(attempts[0].durationMs).toBeGreaterThanOrEqual(9900);
    expect(attempts[0].durationMs).toBeLessThan(15_000);
  });

  it('a webhook endpoint that answers 410 is turned off with an audit entry, and can be turned on again', async () => {
    const path = fixture.generatePath();
    fixture.receiver.answers.set(path, (response) => response.writeHead(410).end());
    const { id, after, endpoint } = await sendTestEvent(`${path}?token=hidden`);
    expect(await after(1)).toMatchObject({ status: 'dead', attempts: [{ statusCode: 410 }] });
    expect(await endpoint()).toMatchObject({
      enabled: false,
      turnedOffReason: 'gone',
      turnedOffAt: expect.any(String),
    });
    const { body } = await fixture.admin.get(`/api/audit?targetId=${id}&action=webhook_endpoint.turn_off`);
    expect(body.entries).toMatchObject([{ actor: { kind: 'system', id: 'webhooks' }, changes: { reason: 'gone' } }]);
    expect(JSON.stringify(body)).not.toContain('hidden');
    fixture.receiver.answers.delete(path);
    await fixture.admin.patch(`${base}/${id}`, { enabled: true });
    expect(await endpoint()).toMatchObject({ enabled: true, turnedOffReason: null, failingSince: null });
  });

  it('an attempt to deliver a webhook to a private address fails with the reason before any call', async () => {
    const { id } = await fixture.createEndpoint(fixture.generatePath(), ['pack.promoted']);
    await fixture.querySql(`UPDATE webhook_endpoint SET url = 'http://10.1.2.3/inside' WHERE id = $1`, id);
    await fixture.admin.post(`${base}/${id}/test`);
    const [delivery] = await waitFor('the attempt', async () => {
      const found = await fixture.listDeliveries(id);
      return found[0]?.attempts.length === 1 && found;
    });
    expect(delivery).toMatchObject({
      status: 'pending',
      attempts: [{ statusCode: null, error: '10.1.2.3 is not a public address' }],
    });
  });
});

/** A separate service, because no user session lasts as long as both groups of tests. */
describe('a receiver that only fails for five days', () => {
  const clock = new FakeClock(new Date());
  let fixture: WebhookFixture;

  beforeAll(async () => {
    fixture = await WebhookFixture.open({}, clock);
  });
  afterAll(() => fixture.close());

  it('a webhook endpoint that fails for five days is turned off; turned on again, it gets waiting deliveries', async () => {
    const path = fixture.generatePath();
    fixture.receiver.answers.set(path, (response) => response.writeHead(500).end());
    const { id } = await fixture.createEndpoint(path, ['agent.online']);
    const createAgentAndHandshake = async () => {
      const created = await fixture.admin.post('/api/agents', { name: `A ${Date.now()}`, provider: 'external' });
      const body = { agentId: created.body.agent.id, bootId: 'b', workerVersion: '1' };
      await fixture.tenant.worker.post('/api/agents/handshake', body);
    };
    await createAgentAndHandshake();
    await fixture.receiver.waitForDeliveries(path, 1);
    for (let day = 1; day <= 5; day += 1) {
      clock.advance(24 * hourMs);
      await fixture.tenant.signInAgain();
      const before = fixture.receiver.listReceivedAt(path).length;
      await createAgentAndHandshake();
      await waitFor(`day ${day}`, async () => {
        const { enabled } = (await fixture.admin.get(`${base}/${id}`)).body;
        return enabled === false || fixture.receiver.listReceivedAt(path).length > before;
      });
    }
    // The service stores the receiver's last answer a moment after the receiver has sent it.
    const off = await waitFor('it to be turned off', async () => {
      const { body } = await fixture.admin.get(`${base}/${id}`);
      return body.enabled === false && body;
    });
    expect(off).toMatchObject({ enabled: false, turnedOffReason: 'failing' });
    const pending = await fixture.listDeliveries(id, '?status=pending');
    expect(pending.length).toBeGreaterThan(0);
    expect(pending.every(({ nextAttemptAt }) => nextAttemptAt === null)).toBe(true);
    fixture.receiver.answers.delete(path);
    await fixture.admin.patch(`${base}/${id}`, { enabled: true });
    clock.advance(24 * hourMs);
    await fixture.tenant.signInAgain();
    await waitFor('all to be sent', async () => (await fixture.listDeliveries(id, '?status=pending')).length === 0);
  });
});
