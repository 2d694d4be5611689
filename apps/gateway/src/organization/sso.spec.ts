import { createSocket, type Socket } from 'node:dgram';
import { rewrapSsoSecrets } from '@muster/access';
import { listPermissions } from '@muster/contracts';
import {
  computeAuthenticatorCode,
  FakeClock,
  makeUser,
  RealProvider,
  ssoClient,
  testMasterKey,
  testPassword,
} from '@muster/testing';
import { KeyRing } from '@muster/vault';
import { redirectUri, SsoFixture } from '../auth/sso-fixture.harness';

const path = '/api/organization/sso';

/** A DNS server on loopback that answers questions about TXT records. */
class DnsServer {
  readonly records: Record<string, string[]> = {};
  readonly questions: string[] = [];

  private constructor(private readonly socket: Socket) {}

  static async start(): Promise<DnsServer> {
    const socket = createSocket('udp4');
    const own = new DnsServer(socket);
    socket.on('message', (message, { port, address }) => socket.send(own.answerMessage(message), port, address));
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
    return own;
  }

  get address(): string {
    return `127.0.0.1:${this.socket.address().port}`;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.socket.close(() => resolve()));
  }

  private answerMessage(message: Buffer): Buffer {
    const labels: string[] = [];
    let at = 12;
    for (let length = message[at]!; length > 0; length = message[at]!) {
      labels.push(message.subarray(at + 1, at + 1 + length).toString());
      at += 1 + length;
    }
    const question = message.subarray(12, at + 5);
    const isTxt = question.readUInt16BE(question.length - 4) === 16;
    const name = labels.join('.');
    this.questions.push(name);
    const values = isTxt ? (this.records[name] ?? []) : [];
    const header = Buffer.from(message.subarray(0, 12));
    header.writeUInt16BE(values.length ? 0x8180 : 0x8183, 2);
    header.writeUInt16BE(values.length, 6);
    header.writeUInt32BE(0, 8);
    const answers = values.map((value) => {
      const text = Buffer.concat([Buffer.from([value.length]), Buffer.from(value)]);
      const fixed = Buffer.from([0xc0, 12, 0, 16, 0, 1, 0, 0, 0, 60, 0, text.length]);
      return Buffer.concat([fixed, text]);
    });
    return Buffer.concat([header, question, ...answers]);
  }
}

describe('settings of single sign-on', () => {
  let provider: RealProvider;
  let dns: DnsServer;
  let fixture: SsoFixture;
  const clock = new FakeClock(new Date());

  beforeAll(async () => {
    provider = await RealProvider.start(redirectUri);
    dns = await DnsServer.start();
    const env = { REDIS_PREFIX: `ssoset${process.pid}`, DOMAIN_PROOF_DNS_SERVERS: dns.address };
    fixture = await SsoFixture.start(provider, clock, env);
  });
  afterAll(async () => {
    await fixture.harness.close();
    await provider.close();
    await dns.close();
  });
  beforeEach(async () => {
    clock.set(new Date());
    await fixture.moveToNewOrganization();
    provider.accounts['dana'] = { email: `dana@${fixture.domain}`, email_verified: true };
  });

  /** Creates an admin with an authenticator app. */
  const makeAdmin = async (email = `admin@${fixture.domain}`) => {
    const { organizationId } = fixture.tenant;
    const user = await makeUser(fixture.harness.db, { organizationId, role: 'admin', email });
    const session = await fixture.harness.http.signIn(email, testPassword);
    const { secret } = (await session.post('/api/auth/totp')).body;
    const confirm = await session.post('/api/auth/totp/confirm', { code: computeCode(secret) });
    expect(confirm.status).toBe(200);
    clock.advance(60_000);
    return { ...user, session, secret: secret as string };
  };
  const computeCode = (secret: string) => computeAuthenticatorCode(secret, clock.now());

  it('admins can set and read the single sign-on settings, which never show the client secret and are audited', async () => {
    const { admin, member, viewer } = fixture.tenant.as;
    const roles = { roleClaim: 'groups', roleMap: { Owners: 'admin' } };
    const set = await admin.put(path, fixture.buildSettings(roles));
    const shown = {
      ...{ issuer: provider.issuer, clientId: ssoClient.id, domains: [fixture.domain], enforced: false, ...roles },
      ...{ requiredAcr: [], requiredAmr: [], maxAgeSeconds: null },
      ...{ redirectUri, domainProofs: [expect.objectContaining({ domain: fixture.domain, provedBy: 'super_admin' })] },
    };
    expect([set.status, set.body]).toEqual([200, shown]);
    const read = await admin.get(path);
    expect(read.body).toEqual(shown);
    expect(read.text + set.text).not.toContain(ssoClient.secret);
    for (const other of [member, viewer, fixture.tenant.api]) {
      expect([(await other.get(path)).status, (await other.put(path, fixture.buildSettings())).status]).toEqual([
        403, 403,
      ]);
    }
    const [row] = await fixture.listAuditEntries('organization.put_sso');
    expect(row.changes).toMatchObject({ roleClaim: [null, 'groups'], clientSecretChanged: true });
    expect(JSON.stringify(row)).not.toContain(ssoClient.secret);
    const [stored] = await fixture.harness.db.query<{ sealed: Buffer; wrappedKey: Buffer }>(
      'system',
      'SELECT sealed, wrapped_key FROM organization_sso WHERE organization_id = $1',
      [fixture.tenant.organizationId],
    );
    expect(Buffer.concat([stored!.sealed, stored!.wrappedKey]).includes(ssoClient.secret)).toBe(false);
    expect((await admin.delete(path)).status).toBe(204);
    expect([(await admin.get(path)).status, (await admin.delete(path)).status]).toEqual([404, 404]);
    expect(await fixture.listAuditEntries('organization.delete_sso')).toHaveLength(1);
  });

  it('a user with a role of the organization can change the single sign-on settings only with all permissions of an admin', async () => {
    const { tenant, harness } = fixture;
    const signInWith = async (name: string, permissions: readonly string[]) => {
      expect((await tenant.as.admin.post('/api/roles', { name, permissions })).status).toBe(201);
      const { email } = await makeUser(harness.db, { organizationId: tenant.organizationId, role: name });
      return harness.http.signIn(email, testPassword);
    };
    const settings = await signInWith('Settings', ['settings.admin']);
    const refused = await settings.put(path, fixture.buildSettings());
    expect([refused.status, refused.body.code]).toEqual([403, 'permission_denied']);
    const deputy = await signInWith('Deputy', listPermissions({ role: 'admin' }));
    expect((await deputy.put(path, fixture.buildSettings())).status).toBe(200);
  });

  it('the stored client secret stays if none is sent, but only for the same issuer and client id', async () => {
    const { admin } = fixture.tenant.as;
    expect(
      (await admin.put(path, fixture.buildSettings({ clientSecret: undefined, roleClaim: 'groups' }))).status,
    ).toBe(200);
    expect((await fixture.signIn()).me.status).toBe(200);
    for (const change of [{ issuer: 'https://other.test' }, { clientId: 'other' }]) {
      const answer = await admin.put(path, fixture.buildSettings({ clientSecret: undefined, ...change }));
      expect(answer).toMatchObject({ status: 400, body: { errors: [{ field: 'clientSecret' }] } });
    }
  });

  it.each([
    ['an issuer without https', { issuer: 'http://idp.example.com' }, 'issuer'],
    ['an issuer whose name looks like loopback', { issuer: 'http://127.0.0.1.example.com' }, 'issuer'],
    ['an issuer with a query', { issuer: 'https://idp.example.com/?a=b' }, 'issuer'],
    ['an issuer with credentials', { issuer: 'https://user@idp.example.com' }, 'issuer'],
    ['a role over all organizations', { roleClaim: 'g', roleMap: { Boss: 'super_admin' } }, 'roleMap'],
    ['an unknown role', { roleClaim: 'g', roleMap: { Boss: 'boss' } }, 'roleMap'],
    ['a map without a claim', { roleMap: { Boss: 'admin' } }, 'roleClaim'],
    ['a text that is not a domain', { domains: ['not a domain'] }, 'domains'],
    ['a name without a dot', { domains: ['localhost'] }, 'domains'],
  ])('single sign-on settings with %s are refused', async (_, change, field) => {
    const answer = await fixture.tenant.as.admin.put(path, fixture.buildSettings(change));
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_payload', errors: [{ field }] } });
  });

  it('an admin must prove the second factor again before changing the single sign-on settings', async () => {
    const { session } = await makeAdmin();
    expect((await session.put(path, fixture.buildSettings())).status).toBe(200);
    clock.advance(15 * 60_000);
    for (const send of [
      () => session.put(path, fixture.buildSettings()),
      () => session.delete(path),
      () => session.post(`${path}/test`),
      () => session.post(`${path}/domain-proof`, { domain: fixture.domain }),
    ]) {
      expect(await send()).toMatchObject({ status: 403, body: { code: 'step_up_required' } });
    }
    expect((await session.get(path)).status).toBe(200);
  });

  it('the test of the single sign-on settings reports in a sentence what is wrong with the provider', async () => {
    const { admin } = fixture.tenant.as;
    const changeAndTestSettings = async (change: object = {}) => {
      await fixture.putSettings(change);
      const { status, body } = await admin.post(`${path}/test`);
      expect(status).toBe(200);
      return body;
    };
    expect(await changeAndTestSettings()).toEqual({
      ok: true,
      message: 'The provider answers and accepts the client ID and the client secret.',
    });
    expect(await changeAndTestSettings({ clientSecret: 'another secret' })).toEqual({
      ok: false,
      message: 'The provider cannot be used: it does not accept the client ID or the client secret.',
    });
    expect(await changeAndTestSettings({ issuer: `${provider.issuer}/nothing` })).toEqual({
      ok: false,
      message: expect.stringContaining('there is no OpenID configuration below the issuer'),
    });
    expect(await changeAndTestSettings({ issuer: 'http://127.0.0.1:9' })).toEqual({
      ok: false,
      message: 'The provider cannot be used: it does not answer: ECONNREFUSED.',
    });
    expect(await changeAndTestSettings({ issuer: 'https://10.0.0.1' })).toEqual({
      ok: false,
      message: expect.stringContaining('10.0.0.1 is not a public address'),
    });
  });

  it('a domain is proved by its TXT record, which the service asks for under the name that it shows', async () => {
    const { admin } = fixture.tenant.as;
    const domain = `proof-${fixture.domain}`;
    const { domainProofs } = await fixture.putSettings({ domains: [domain.toUpperCase()] });
    const [{ recordName, recordValue }] = domainProofs;
    expect(domainProofs).toEqual([{ domain, provedAt: null, provedBy: null, recordName, recordValue }]);
    expect(recordName).toBe(`_muster-challenge.${domain}`);
    const proveDomain = () => admin.post(`${path}/domain-proof`, { domain });
    expect(await proveDomain()).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('does not exist') },
    });
    dns.records[recordName] = ['v=spf1', 'muster-domain-proof=another'];
    expect(await proveDomain()).toMatchObject({
      status: 409,
      body: { detail: expect.stringContaining('another value') },
    });
    expect((await fixture.createClientFrom().get(`/api/auth/sso/start?email=dana@${domain}`)).status).toBe(404);
    dns.records[recordName] = ['v=spf1', recordValue];
    const proved = await proveDomain();
    expect(proved.body).toEqual({ ...domainProofs[0], provedAt: clock.now().toISOString(), provedBy: 'dns' });
    expect(new Set(dns.questions.slice(-3))).toEqual(new Set([recordName]));
    expect((await fixture.openBrowser().openAddress(`/api/auth/sso/start?email=dana@${domain}`)).status).toBe(302);
    expect((await admin.post(`${path}/domain-proof`, { domain: 'other.test' })).status).toBe(404);
    expect((await fixture.listAuditEntries('organization.prove_domain'))[0].changes).toEqual({ domain });
  });

  it('a domain belongs to one organization, also if two prove it at the same time', async () => {
    const first = fixture.tenant;
    const other = await fixture.harness.makeTenant();
    const taken = { status: 409, body: { detail: expect.stringContaining('belongs to another organization') } };
    expect(await fixture.setDomains([fixture.domain], other)).toMatchObject(taken);
    expect(await other.as.admin.put(path, fixture.buildSettings())).toMatchObject(taken);
    const domain = `race-${fixture.domain}`;
    const both = await Promise.all([first, other].map((tenant) => fixture.setDomains([domain], tenant)));
    expect(both.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it('the super_admin sets the proved domains, and domains that are left out lose their proof', async () => {
    const { organizationId, as } = fixture.tenant;
    const organization = `/api/admin/organizations/${organizationId}`;
    expect((await as.super_admin.get(organization)).body.domains).toEqual([fixture.domain]);
    const changed = await fixture.setDomains([`B-${fixture.domain}`, `a-${fixture.domain}`]);
    const domains = [`a-${fixture.domain}`, `b-${fixture.domain}`];
    expect(changed.body.domains).toEqual(domains);
    const [row] = await fixture.listAuditEntries('organization.update');
    expect(row.changes).toEqual({ domains: [[fixture.domain], domains] });
    expect((await as.admin.patch(organization, { domains: [] })).status).toBe(403);
    expect((await fixture.setDomains(['no domain'])).status).toBe(400);
    expect((await fixture.createClientFrom().get(`/api/auth/sso/start?email=dana@${fixture.domain}`)).status).toBe(404);
  });

  it('the client secret of single sign-on is sealed again with a new master key', async () => {
    const { db } = fixture.harness;
    const young = KeyRing.parseKeyRing(`young:${Buffer.alloc(32, 9).toString('base64')},${testMasterKey}`);
    const { looked, rewrapped } = await rewrapSsoSecrets(db, young);
    expect([looked > 0, rewrapped]).toEqual([true, looked]);
    const old = KeyRing.parseKeyRing(`${testMasterKey},young:${Buffer.alloc(32, 9).toString('base64')}`);
    expect((await rewrapSsoSecrets(db, old)).rewrapped).toBe(looked);
    expect((await fixture.signIn()).me.status).toBe(200);
  });
});
