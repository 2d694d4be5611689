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

  const createAnonymousClient = () => new HttpClient(fixture.harness.url);
  const makeUserWithRole = (role: 'viewer' | 'member' | 'admin' = 'member') =>
    makeUser(fixture.harness.db, {
      organizationId: fixture.tenant.organizationId,
      role,
      email: `${newId()}@practice.example`,
    });
  const requestReset = (email: string, client = createAnonymousClient()) => client.post('/api/auth/forgot', { email });
  const resetPassword = (token: string, password = newPassword) =>
    createAnonymousClient().post('/api/auth/reset', { token, password });
  const requestLogin = (email: string, password: string) =>
    createAnonymousClient().post('/api/auth/login', { email, password });
  const findTokenInMail = (raw: string) => /\/app\/(?:reset|invitation)#token=([\w-]+)/.exec(raw)![1]!;
  const requestResetToken = async (email: string, count = 1) => {
    expect((await requestReset(email)).status).toBe(202);
    return findTokenInMail((await mailbox.waitForMails(email, count)).at(-1)!.raw);
  };

  it('a mailed link replaces a forgotten password once, and the new password ends all sessions of the user', async () => {
    const { email } = await makeUserWithRole();
    const session = await createAnonymousClient().signIn(email, testPassword);
    const token = await requestResetToken(email);
    const [mail] = await mailbox.waitForMails(email);
    expect(mail!.raw).toContain('From: Muster <muster@practice.example>');
    expect(mail!.raw).toContain(`https://muster.example.com/app/reset#token=${token}`);
    expect((await requestLogin(email, testPassword)).status).toBe(200);
    expect((await resetPassword(token)).body).toEqual({ success: true });
    expect((await session.get('/api/auth/me')).status).toBe(401);
    expect((await requestLogin(email, testPassword)).status).toBe(401);
    expect((await requestLogin(email, newPassword)).status).toBe(200);
    const again = await resetPassword(token, 'another battery horse');
    expect([again.status, again.body.code]).toEqual([401, 'unauthenticated']);
    expect((await requestLogin(email, newPassword)).status).toBe(200);
  });

  it('only one of several concurrent requests can set a password with the same mailed link', async () => {
    const { email } = await makeUserWithRole();
    const token = await requestResetToken(email);
    const answers = await Promise.all(
      ['a', 'b', 'c', 'd'].map((one) => resetPassword(token, `${one} battery horse staple`)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 401, 401, 401]);
  });

  it('the answer about a forgotten password is the same for unknown, disabled and known accounts', async () => {
    const [known, disabled] = [await makeUserWithRole(), await makeUserWithRole()];
    expect((await fixture.admin.patch(`/api/users/${disabled.id}`, { disabled: true })).status).toBe(200);
    const unknown = `${newId()}@practice.example`;
    const answers = [];
    for (const email of [unknown, disabled.email, known.email]) answers.push(await requestReset(email));
    const seen = answers.map(({ status, body, headers }) => [status, body, [...headers.keys()].sort().join()]);
    expect(seen[0]!.slice(0, 2)).toEqual([202, { sendsMail: true }]);
    expect(seen[1]).toEqual(seen[0]);
    expect(seen[2]).toEqual(seen[0]);
    await mailbox.waitForMails(known.email);
    expect(mailbox.mails.filter(({ to }) => [unknown, disabled.email].includes(to))).toEqual([]);
  });

  it('the answer about a forgotten password does not wait for the account, the link or the mail', async () => {
    const { email } = await makeUserWithRole();
    const holder = new Client({ connectionString: fixture.harness.databaseUrl });
    await holder.connect();
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE app_user IN ACCESS EXCLUSIVE MODE');
    expect((await requestReset(email)).status).toBe(202);
    await holder.query('COMMIT');
    await holder.end();
    await mailbox.waitForMails(email);
  });

  it('a mailed link never contains the host that the request names', async () => {
    const { email } = await makeUserWithRole();
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' };
    await requestReset(email, createAnonymousClient().with(headers));
    const [mail] = await mailbox.waitForMails(email);
    expect(mail!.raw).not.toContain('evil.example');
    expect(mail!.raw).toContain('https://muster.example.com/app/reset#token=');
  });

  it('a newer mailed link for a password replaces the older one, and an expired link does not work', async () => {
    const { id, email } = await makeUserWithRole();
    const older = await requestResetToken(email);
    const newer = await requestResetToken(email, 2);
    expect((await resetPassword(older)).status).toBe(401);
    await fixture.querySql(
      `UPDATE account_link SET expires_at = muster_now() - interval '1 second' WHERE user_id = $1`,
      id,
    );
    expect((await resetPassword(newer)).status).toBe(401);
    expect((await requestLogin(email, testPassword)).status).toBe(200);
  });

  it('a mailed link for a password is refused if the account was disabled after the mail was sent', async () => {
    const { id, email } = await makeUserWithRole();
    const token = await requestResetToken(email);
    await fixture.admin.patch(`/api/users/${id}`, { disabled: true });
    expect((await resetPassword(token)).status).toBe(401);
  });

  it('a password that is set by a mailed link follows the password rules; a refused one does not use up the link', async () => {
    const { email } = await makeUserWithRole();
    const token = await requestResetToken(email);
    for (const password of ['short', 'passwordpassword', email]) {
      const answer = await resetPassword(token, password);
      expect([answer.status, answer.body.errors?.[0]?.field]).toEqual([400, 'password']);
    }
    expect((await resetPassword(token)).status).toBe(200);
  });

  it('a password that is set by a mailed link does not replace the second factor', async () => {
    const { email } = await makeUserWithRole();
    const session = await createAnonymousClient().signIn(email, testPassword);
    const { secret } = (await session.post('/api/auth/totp')).body;
    const code = computeAuthenticatorCode(secret, new Date());
    expect((await session.post('/api/auth/totp/confirm', { code })).status).toBe(200);
    const answer = await resetPassword(await requestResetToken(email));
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([200, null]);
    expect((await requestLogin(email, newPassword)).body).toMatchObject({ needs: 'totp' });
  });

  it('an account gets at most 20 mails a minute, but every request gets the same answer', async () => {
    const { id, email } = await makeUserWithRole();
    const answers = await Promise.all(Array.from({ length: 45 }, () => requestReset(email)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    const other = await makeUserWithRole();
    await requestResetToken(other.email);
    const [count] = await fixture.querySql(
      `SELECT count(*)::int AS links FROM audit_entry WHERE target_id = $1 AND action = 'user.forgot_password'`,
      id,
    );
    // The limit counts requests per minute, and the requests of this test can fall into two minutes.
    expect(count.links).toBeGreaterThanOrEqual(20);
    expect(count.links).toBeLessThanOrEqual(40);
  });

  it('neither the database nor the queue contains the token of a mailed link', async () => {
    const { id, email } = await makeUserWithRole();
    const token = await requestResetToken(email);
    const rows = JSON.stringify([
      await fixture.querySql('SELECT l::text FROM account_link l WHERE user_id = $1', id),
      await fixture.querySql('SELECT o::text FROM outbox o'),
      await fixture.querySql('SELECT e::text FROM audit_entry e'),
    ]);
    expect(rows).toContain(id);
    expect(rows).not.toContain(token.slice(45));
  });

  const inviteUser = (email: string, role = 'member', client = fixture.admin) =>
    client.post('/api/invitations', { email, role });
  const acceptInvitation = (token: string, password = newPassword) =>
    createAnonymousClient().post('/api/invitations/accept', { token, password });

  it('an invitation sends a mail with a link, with which the person creates the account', async () => {
    const email = `${newId()}@practice.example`;
    const answer = await inviteUser(email, 'viewer');
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        ...{ id: expect.any(String), email, role: 'viewer', sendsMail: true, expiresAt: expect.any(String) },
        link: expect.stringMatching(/^https:\/\/muster\.example\.com\/app\/invitation#token=mal_/),
      },
    ]);
    const [mail] = await mailbox.waitForMails(email);
    const token = findTokenInMail(mail!.raw);
    expect(findTokenInMail(answer.body.link)).toBe(token);
    expect((await acceptInvitation(token, 'short')).status).toBe(400);
    expect((await resetPassword(token)).status).toBe(401);
    expect((await acceptInvitation(token)).body).toEqual({ email });
    expect((await acceptInvitation(token, 'another battery horse')).status).toBe(401);
    expect((await requestLogin(email, newPassword)).body).toMatchObject({
      ...{ user: { email, role: 'viewer' }, organization: { id: fixture.tenant.organizationId } },
    });
    expect((await inviteUser(email)).status).toBe(409);
  });

  it('an invitation to a user of another organization gets the usual answer but does not change the user', async () => {
    const { id: other } = await makeOrganization(fixture.harness.db);
    const { email, id } = await makeUser(fixture.harness.db, { organizationId: other, role: 'viewer' });
    const [answer, usual] = [
      await inviteUser(email, 'admin'),
      await inviteUser(`${newId()}@practice.example`, 'admin'),
    ];
    expect(answer.status).toBe(201);
    expect(Object.keys(answer.body)).toEqual(Object.keys(usual.body));
    const [mail] = await mailbox.waitForMails(email);
    expect(mail!.raw).toContain('no effect');
    expect(mail!.raw).not.toContain('#token=');
    const taken = await acceptInvitation(findTokenInMail(answer.body.link));
    const unknown = await acceptInvitation(`mal_${newId()}_${'x'.repeat(43)}`);
    expect([taken.status, taken.body.detail]).toEqual([unknown.status, unknown.body.detail]);
    expect((await requestLogin(email, testPassword)).body).toMatchObject({
      ...{ user: { id, role: 'viewer' }, organization: { id: other } },
    });
  });

  it('a newer invitation to the same address replaces the older one', async () => {
    const email = `${newId()}@practice.example`;
    const older = findTokenInMail((await inviteUser(email, 'admin')).body.link);
    const newer = findTokenInMail((await inviteUser(email, 'viewer')).body.link);
    expect((await acceptInvitation(older)).status).toBe(401);
    expect((await acceptInvitation(newer)).status).toBe(200);
    expect((await requestLogin(email, newPassword)).body.user.role).toBe('viewer');
  });

  it('only a signed-in admin can invite, and only for a role up to their own', async () => {
    const email = `${newId()}@practice.example`;
    const member = await makeUserWithRole('member');
    const session = await createAnonymousClient().signIn(member.email, testPassword);
    expect((await inviteUser(email, 'viewer', session)).status).toBe(403);
    expect((await inviteUser(email, 'super_admin')).status).toBe(403);
    const { secret } = (await fixture.admin.post('/api/api-keys', { name: 'key', scope: 'api' })).body;
    expect((await inviteUser(email, 'viewer', createAnonymousClient().withKey(secret))).status).toBe(403);
    expect(mailbox.mails.filter(({ to }) => to === email)).toEqual([]);
  });
});
