import { newId } from '@muster/platform';
import {
  computeAuthenticatorCode,
  HttpClient,
  Mailbox,
  makeOrganization,
  makeUser,
  testPassword,
} from '@muster/testing';
import { Client } from 'pg';
import { WebhookFixture } from './webhook-fixture.harness';

jest.setTimeout(90_000);

const newPassword = 'staple battery horse';

describe('forgotten passwords and invitations', () => {
  let fixture: WebhookFixture;
  let mailbox: Mailbox;

  beforeAll(async () => {
    mailbox = await Mailbox.start();
    const env = { SMTP_URL: mailbox.url, SMTP_FROM: 'Muster <muster@practice.example>' };
    fixture = await WebhookFixture.open({ ...env, PUBLIC_APP_URL: 'https://muster.example.com' });
  });
  afterAll(async () => {
    await fixture.close();
    await mailbox.stop();
  });

  const anonymous = () => new HttpClient(fixture.harness.url);
  const user = (role: 'viewer' | 'member' | 'admin' = 'member') =>
    makeUser(fixture.harness.db, {
      organizationId: fixture.tenant.organizationId,
      role,
      email: `${newId()}@practice.example`,
    });
  const forgot = (email: string, client = anonymous()) => client.post('/api/auth/forgot', { email });
  const reset = (token: string, password = newPassword) => anonymous().post('/api/auth/reset', { token, password });
  const login = (email: string, password: string) => anonymous().post('/api/auth/login', { email, password });
  const tokenIn = (raw: string) => /\/app\/(?:reset|invitation)#token=([\w-]+)/.exec(raw)![1]!;
  const linkFor = async (email: string, count = 1) => {
    expect((await forgot(email)).status).toBe(202);
    return tokenIn((await mailbox.waitForMails(email, count)).at(-1)!.raw);
  };

  it('a mailed link replaces a forgotten password once, and the new password ends all sessions of the user', async () => {
    const { email } = await user();
    const session = await anonymous().signIn(email, testPassword);
    const token = await linkFor(email);
    const [mail] = await mailbox.waitForMails(email);
    expect(mail!.raw).toContain('From: Muster <muster@practice.example>');
    expect(mail!.raw).toContain(`https://muster.example.com/app/reset#token=${token}`);
    expect((await login(email, testPassword)).status).toBe(200);
    expect((await reset(token)).body).toEqual({ success: true });
    expect((await session.get('/api/auth/me')).status).toBe(401);
    expect((await login(email, testPassword)).status).toBe(401);
    expect((await login(email, newPassword)).status).toBe(200);
    const again = await reset(token, 'another battery horse');
    expect([again.status, again.body.code]).toEqual([401, 'unauthenticated']);
    expect((await login(email, newPassword)).status).toBe(200);
  });

  it('only one of several concurrent requests can set a password with the same mailed link', async () => {
    const { email } = await user();
    const token = await linkFor(email);
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((one) => reset(token, `${one} battery horse staple`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);
  });

  it('the answer about a forgotten password is the same for unknown, disabled and known accounts', async () => {
    const [known, disabled] = [await user(), await user()];
    expect((await fixture.admin.patch(`/api/users/${disabled.id}`, { disabled: true })).status).toBe(200);
    const unknown = `${newId()}@practice.example`;
    const answers = [];
    for (const email of [unknown, disabled.email, known.email]) answers.push(await forgot(email));
    const seen = answers.map(({ status, body, headers }) => [status, body, [...headers.keys()].sort().join()]);
    expect(seen[0]!.slice(0, 2)).toEqual([202, { sendsMail: true }]);
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[2]).toEqual(seen[0]);
    await mailbox.waitForMails(known.email);
    expect(mailbox.mails.filter(({ to }) => [unknown, disabled.email].includes(to))).toEqual([]);
  });

  it('the answer about a forgotten password does not wait for the account, the link or the mail', async () => {
    const { email } = await user();
    const holder = new Client({ connectionString: fixture.harness.databaseUrl });
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE app_user IN ACCESS EXCLUSIVE MODE');
    expect((await forgot(email)).status).toBe(202);
    await holder.query('COMMIT');
    await holder.end();
    await mailbox.waitForMails(email);
  });

  it('a mailed link never contains the host that the request names', async () => {
    const { email } = await user();
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' };
    await forgot(email, anonymous().with(headers));
    const [mail] = await mailbox.waitForMails(email);
    expect(mail!.raw).not.toContain('evil.example');
    expect(mail!.raw).toContain('https://muster.example.com/app/reset#token=');
  });

  it('a newer mailed link for a password replaces the older one, and an expired link does not work', async () => {
    const { id, email } = await user();
    const older = await linkFor(email);
    const newer = await linkFor(email, 2);
    expect((await reset(older)).status).toBe(401);
    await fixture.query(
      `UPDATE account_link SET expires_at = muster_now() - interval '1 second' WHERE user_id = $1`,
      id,
    );
    expect((await reset(newer)).status).toBe(401);
    expect((await login(email, testPassword)).status).toBe(200);
  });

  it('a mailed link for a password is refused if the account was disabled after the mail was sent', async () => {
    const { id, email } = await user();
    const token = await linkFor(email);
    await fixture.admin.patch(`/api/users/${id}`, { disabled: true });
    expect((await reset(token)).status).toBe(401);
  });

  it('a password that is set by a mailed link follows the password rules; a refused one does not use up the link', async () => {
    const { email } = await user();
    const token = await linkFor(email);
    for (const password of ['short', 'passwordpassword', email]) {
      const answer = await reset(token, password);
      expect([answer.status, answer.body.errors?.[0]?.field]).toEqual([400, 'password']);
    }
    expect((await reset(token)).status).toBe(200);
  });

  it('a password that is set by a mailed link does not replace the second factor', async () => {
    const { email } = await user();
    const session = await anonymous().signIn(email, testPassword);
    const { secret } = (await session.post('/api/auth/totp')).body;
    const code = computeAuthenticatorCode(secret, new Date());
    expect((await session.post('/api/auth/totp/confirm', { code })).status).toBe(200);
    const answer = await reset(await linkFor(email));
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([200, null]);
    expect((await login(email, newPassword)).body).toMatchObject({ needs: 'totp' });
  });

  it('an account gets at most 20 mails a minute, but every request gets the same answer', async () => {
    const { id, email } = await user();
    const answers = await Promise.all(Array.from({ length: 45 }, () => forgot(email)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    const other = await user();
    await linkFor(other.email);
    const [count] = await fixture.query(
      `SELECT count(*)::int AS links FROM audit_entry WHERE target_id = $1 AND action = 'user.forgot_password'`,
      id,
    );
    // The limit counts requests per minute, and the requests of this test can fall into two minutes.
    expect(count.links).toBeGreaterThanOrEqual(20);
    expect(count.links).toBeLessThanOrEqual(40);
  });

  it('neither the database nor the queue contains the token of a mailed link', async () => {
    const { id, email } = await user();
    const token = await linkFor(email);
    const rows = JSON.stringify([
      await fixture.query('SELECT l::text FROM account_link l WHERE user_id = $1', id),
      await fixture.query('SELECT o::text FROM outbox o'),
      await fixture.query('SELECT e::text FROM audit_entry e'),
    ]);
    expect(rows).toContain(id);
    expect(rows).not.toContain(token.slice(45));
  });

  const invite = (email: string, role = 'member', client = fixture.admin) =>
    client.post('/api/invitations', { email, role });
  const accept = (token: string, password = newPassword) =>
    anonymous().post('/api/invitations/accept', { token, password });

  it('an invitation sends a mail with a link, with which the person creates the account', async () => {
    const email = `${newId()}@practice.example`;
    const answer = await invite(email, 'viewer');
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        ...{ id: expect.any(String), email, role: 'viewer', sendsMail: true, expiresAt: expect.any(String) },
        link: expect.stringMatching(/^https:\/\/muster\.example\.com\/app\/invitation#token=mal_/),
      },
    ]);
    const [mail] = await mailbox.waitForMails(email);
    const token = tokenIn(mail!.raw);
    expect(tokenIn(answer.body.link)).toBe(token);
    expect((await accept(token, 'short')).status).toBe(400);
    expect((await reset(token)).status).toBe(401);
    expect((await accept(token)).body).toEqual({ email });
    expect((await accept(token, 'another battery horse')).status).toBe(401);
    expect((await login(email, newPassword)).body).toMatchObject({
      ...{ user: { email, role: 'viewer' }, organization: { id: fixture.tenant.organizationId } },
    });
    expect((await invite(email)).status).toBe(409);
  });

  it('an invitation to a user of another organization gets the usual answer but does not change the user', async () => {
    const { id: other } = await makeOrganization(fixture.harness.db);
    const { email, id } = await makeUser(fixture.harness.db, { organizationId: other, role: 'viewer' });
    const [answer, usual] = [await invite(email, 'admin'), await invite(`${newId()}@practice.example`, 'admin')];
    expect(answer.status).toBe(201);
    expect(Object.keys(answer.body)).toEqual(Object.keys(usual.body));
    const [mail] = await mailbox.waitForMails(email);
    expect(mail!.raw).toContain('no effect');
    expect(mail!.raw).not.toContain('#token=');
    const taken = await accept(tokenIn(answer.body.link));
    const unknown = await accept(`mal_${newId()}_${'x'.repeat(43)}`);
    expect([taken.status, taken.body.detail]).toEqual([unknown.status, unknown.body.detail]);
    expect((await login(email, testPassword)).body).toMatchObject({
      ...{ user: { id, role: 'viewer' }, organization: { id: other } },
    });
  });

  it('a newer invitation to the same address replaces the older one', async () => {
    const email = `${newId()}@practice.example`;
    const older = tokenIn((await invite(email, 'admin')).body.link);
    const newer = tokenIn((await invite(email, 'viewer')).body.link);
    expect((await accept(older)).status).toBe(401);
    expect((await accept(newer)).status).toBe(200);
    expect((await login(email, newPassword)).body.user.role).toBe('viewer');
  });

  it('only a signed-in admin can invite, and only for a role up to their own', async () => {
    const email = `${newId()}@practice.example`;
    const member = await user('member');
    const session = await anonymous().signIn(member.email, testPassword);
    expect((await invite(email, 'viewer', session)).status).toBe(403);
    expect((await invite(email, 'super_admin')).status).toBe(403);
    const { secret } = (await fixture.admin.post('/api/api-keys', { name: 'key', scope: 'api' })).body;
    expect((await invite(email, 'viewer', anonymous().withKey(secret))).status).toBe(403);
    expect(mailbox.mails.filter(({ to }) => to === email)).toEqual([]);
  });
});
