import { waitFor } from '@muster/testing';
import { verifySignature } from './receiver.harness';
import { WebhookFixture } from './webhook-fixture.harness';

jest.setTimeout(60_000);

const base = '/api/webhook-endpoints';

describe('webhook endpoints', () => {
  let fixture: WebhookFixture;

  beforeAll(async () => {
    fixture = await WebhookFixture.open();
  });
  afterAll(() => fixture.close());

  it('a webhook endpoint’s secret is shown once, and a change of the endpoint requires the version that was read', async () => {
    const created = await fixture.createEndpoint(fixture.generatePath(), ['job.failed'], { description: 'Billing' });
    expect(created.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const read = await fixture.admin.get(`${base}/${created.id}`);
    expect(read.body).toEqual({
      id: created.id,
      url: expect.stringContaining(fixture.receiver.url),
      events: ['job.failed'],
      description: 'Billing',
      enabled: true,
      turnedOffReason: null,
      turnedOffAt: null,
      failingSince: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    const stale = fixture.admin.with({ 'if-match': '"99"' });
    expect((await stale.patch(`${base}/${created.id}`, { enabled: false })).status).toBe(412);
    const current = fixture.admin.with({ 'if-match': read.headers.get('etag')! });
    expect((await current.patch(`${base}/${created.id}`, { events: ['*'] })).body).toMatchObject({ events: ['*'] });
    expect((await current.delete(`${base}/${created.id}`)).status).toBe(412);
    const { body: list } = await fixture.admin.get(base);
    expect(JSON.stringify(list)).not.toContain('whsec_');
    expect((await fixture.admin.delete(`${base}/${created.id}`)).status).toBe(204);
    expect((await fixture.admin.get(`${base}/${created.id}`)).status).toBe(404);
    const rows = await fixture.querySql(
      `SELECT action, changes FROM audit_entry WHERE target_id = $1 ORDER BY id`,
      created.id,
    );
    expect(rows.map(({ action }) => action)).toEqual([
      'webhook_endpoint.create',
      'webhook_endpoint.update',
      'webhook_endpoint.delete',
    ]);
    expect(JSON.stringify(rows)).not.toContain('whsec_');
  });

  it('webhook endpoints are accessible only to admins with a session', async () => {
    const { as, api, worker } = fixture.tenant;
    for (const client of [as.viewer, as.member, api, worker]) expect((await client.get(base)).status).toBe(403);
  });

  it.each([
    [{ url: 'ftp://example.com/', events: ['*'] }, 'url'],
    [{ url: 'http://10.0.0.1/hook', events: ['*'] }, 'url'],
    [{ url: 'http://[::1]:3000/hook', events: ['*'] }, 'url'],
    [{ url: 'http://169.254.169.254/latest', events: ['*'] }, 'url'],
    [{ url: 'https://user:pass@93.184.215.14/', events: ['*'] }, 'url'],
    [{ url: 'https://93.184.215.14/', events: [] }, 'events'],
    [{ url: 'https://93.184.215.14/', events: ['job.exploded'] }, 'events'],
    [{ events: ['*'] }, 'url'],
  ])('a webhook endpoint cannot be created with %j', async (body, field) => {
    const answer = await fixture.admin.post(base, body);
    expect([answer.status, answer.body.errors?.[0].field]).toEqual([400, field]);
  });

  it('an organization has at most twenty webhook endpoints, even after concurrent requests', async () => {
    const tenant = await fixture.harness.makeTenant();
    const body = { url: 'https://93.184.215.14/', events: ['pack.promoted'] };
    const answers = await Promise.all(Array.from({ length: 25 }, () => tenant.as.admin.post(base, body)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(20);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(new Set(refused.map(({ status, body: { code } }) => `${status} ${code}`))).toEqual(
      new Set(['409 conflict']),
    );
  });

  it('a webhook endpoint signs with both secrets for a day after a rotation, then with the new one', async () => {
    const path = fixture.generatePath();
    const { id, secret: old } = await fixture.createEndpoint(path, ['pack.promoted']);
    const rotated = await fixture.admin.post(`${base}/${id}/rotate-secret`);
    expect([rotated.status, rotated.body.id]).toEqual([200, id]);
    const { secret } = rotated.body;
    expect(secret).not.toBe(old);
    await fixture.admin.post(`${base}/${id}/test`);
    const [both] = await fixture.receiver.waitForDeliveries(path);
    expect(both!.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);
    verifySignature(secret, both!);
    verifySignature(old, both!);
    await fixture.querySql(
      `UPDATE webhook_secret SET expires_at = expires_at - interval '24 hours' WHERE endpoint_id = $1`,
      id,
    );
    await fixture.admin.post(`${base}/${id}/test`);
    const last = (await fixture.receiver.waitForDeliveries(path, 2)).at(-1)!;
    verifySignature(secret, last);
    expect(() => verifySignature(old, last)).toThrow();
    for (let more = 0; more < 3; more += 1) {
      expect((await fixture.admin.post(`${base}/${id}/rotate-secret`)).status).toBe(200);
    }
    await fixture.admin.post(`${base}/${id}/rotate-secret`);
    expect((await fixture.admin.post(`${base}/${id}/rotate-secret`)).status).toBe(409);
    const stored = await fixture.querySql('SELECT * FROM webhook_secret WHERE endpoint_id = $1', id);
    expect(JSON.stringify(stored)).not.toContain(secret);
  });

  it('a webhook endpoint can be tested while off; a redelivery has the same id and body and a new time', async () => {
    const path = fixture.generatePath();
    const { id, secret } = await fixture.createEndpoint(path, ['pack.promoted'], { enabled: false });
    const response = await fixture.admin.post(`${base}/${id}/test`);
    expect([response.status, response.headers.get('location')]).toEqual([
      202,
      `${base}/${id}/deliveries/${response.body.deliveryId}`,
    ]);
    const [first] = await fixture.receiver.waitForDeliveries(path);
    expect(first!.headers['webhook-id']).toBe(response.body.deliveryId);
    await waitFor(
      'the result to be stored',
      async () => (await fixture.listDeliveries(id, '?status=delivered')).length === 1,
    );
    // The test waits for a second, because the signed timestamps have a resolution of one second.
    await waitFor('the next second', () => Date.now() - first!.at > 1000);
    const again = await fixture.admin.post(`${base}/${id}/deliveries/${response.body.deliveryId}/redeliver`);
    expect(again.status).toBe(202);
    const [, second] = await fixture.receiver.waitForDeliveries(path, 2);
    expect(second).toMatchObject({ body: first!.body, headers: { 'webhook-id': response.body.deliveryId } });
    expect(Number(second!.headers['webhook-timestamp'])).toBeGreaterThan(Number(first!.headers['webhook-timestamp']));
    verifySignature(secret, second!);
    const delivery = await waitFor('both attempts', async () => {
      const [row] = await fixture.listDeliveries(id, '?type=webhook.test');
      return row.attempts.length === 2 && row;
    });
    expect(delivery).toMatchObject({ status: 'delivered', attempts: [{ statusCode: 204 }, { statusCode: 204 }] });
    expect(await fixture.listDeliveries(id, '?status=dead')).toEqual([]);
    expect((await fixture.admin.get(`${base}/${id}/deliveries?status=lost`)).status).toBe(400);
  });
});
