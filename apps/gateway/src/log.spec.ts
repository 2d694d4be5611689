import { type Harness, startHarness, type Tenant, testPassword, waitFor } from '@muster/testing';
import { gateway } from './gateway.harness';

describe('the log', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  it('the log contains the trace id and the id of each request, received or generated', async () => {
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const answer = await tenant.api
      .with({ 'x-request-id': 'my-request-1', traceparent })
      .get('/api/organization/settings');
    expect(answer.headers.get('x-request-id')).toBe('my-request-1');
    await waitFor('the log line', () =>
      harness.logs.some((line) => line.includes('my-request-1') && line.includes('0af7651916cd43dd8448eb211c80319c')),
    );
    const odd = await tenant.api.with({ 'x-request-id': 'a b;<script>' }).get('/api/organization/settings');
    expect(odd.headers.get('x-request-id')).toMatch(/^[0-9a-f]{24}$/);
  });

  it('the log contains no credential, whatever a request sends', async () => {
    await tenant.as.admin.put('/api/vault/KEY', { value: 'a-vault-value' });
    await harness.http.get('/api/organization/settings?x-api-key=msk_abcdefgh_0123456789abcdef');
    await harness.http.post('/api/auth/login', { email: 'a@b.co', password: 'a-wrong-password' });
    const all = harness.logs.join('');
    expect(all).not.toMatch(/msk_[a-z0-9]{8,32}_[A-Za-z0-9]/);
    expect(all).not.toMatch(/mse_[0-9a-f-]{36}_[A-Za-z0-9]/);
    for (const secret of [testPassword, 'a-vault-value', 'a-wrong-password']) expect(all).not.toContain(secret);
  });
});
