import { newId } from '@muster/platform';
import { type Harness, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';

describe('invitations of a service without a mail relay and without PUBLIC_APP_URL', () => {
  let harness: Harness;
  let tenant: Tenant;

  beforeAll(async () => {
    harness = await startHarness({ ...gateway, env: { PUBLIC_APP_URL: undefined } });
    tenant = await harness.makeTenant();
  });
  afterAll(() => harness.close());

  it('the link of an invitation never contains the host that the request names', async () => {
    const email = `${newId()}@practice.example`;
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' };
    const answer = await tenant.as.admin.with(headers).post('/api/invitations', { email, role: 'viewer' });
    expect([answer.status, answer.body.sendsMail]).toEqual([201, false]);
    expect(answer.body.link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/app\/invitation#token=/);
    const token = answer.body.link.split('=')[1];
    const accepted = await harness.http.post('/api/invitations/accept', { token, password: 'staple battery horse' });
    expect([accepted.status, accepted.body]).toEqual([200, { email }]);
  });

  it('without a mail relay, a request about a forgotten password reports this and creates no link', async () => {
    const { email } = (await tenant.as.viewer.get('/api/auth/me')).body.user;
    for (const each of [email, 'nobody@practice.example']) {
      const answer = await harness.http.post('/api/auth/forgot', { email: each });
      expect([answer.status, answer.body]).toEqual([202, { sendsMail: false }]);
    }
    expect(await harness.db.query('system', `SELECT 1 FROM account_link WHERE kind = 'reset'`)).toEqual([]);
  });
});
