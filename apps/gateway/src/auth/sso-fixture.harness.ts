import { type FakeClock, type Harness, type HttpClient, ssoClient, startHarness, type Tenant } from '@muster/testing';
import { gateway } from '../gateway.harness';
import { TestBrowser } from './sso.harness';

const settings = '/api/organization/sso';

/** The address of the service in browsers, which the providers know. */
export const publicAddress = 'http://muster.test';
export const redirectUri = `${publicAddress}/api/auth/sso/callback`;

/** A service with one organization at a time, which has a proved domain and a provider. */
export class SsoFixture {
  tenant!: Tenant;
  domain!: string;
  private count = 0;

  private constructor(
    readonly harness: Harness,
    readonly provider: { readonly issuer: string },
  ) {}

  static async start(provider: { readonly issuer: string }, clock: FakeClock, env: Record<string, string> = {}) {
    const own = { OUTBOUND_ALLOW: '127.0.0.1', TRUST_PROXY: '127.0.0.1', ...env };
    return new SsoFixture(await startHarness({ ...gateway, env: own, clock }), provider);
  }

  /** Creates another organization, whose domain is proved. */
  async moveToNewOrganization(more: object = {}): Promise<void> {
    this.domain = `acme${(this.count += 1)}-${process.pid}.test`;
    this.tenant = await this.harness.makeTenant();
    await this.setDomains([this.domain]);
    await this.putSettings(more);
  }

  setDomains(domains: string[], { organizationId, as } = this.tenant) {
    return as.super_admin.patch(`/api/admin/organizations/${organizationId}`, { domains });
  }

  buildSettings(more: object = {}) {
    const own = { issuer: this.provider.issuer, clientId: ssoClient.id, clientSecret: ssoClient.secret };
    return { ...own, domains: [this.domain], enforced: false, ...more };
  }

  async putSettings(more: object = {}, admin: HttpClient = this.tenant.as.admin) {
    const answer = await admin.put(settings, this.buildSettings(more));
    if (answer.status !== 200) throw new Error(`the settings were answered ${answer.status}: ${answer.text}`);
    return answer.body;
  }

  /** Returns an address from which nothing was sent yet, so that the limits of other tests do not apply. */
  generateAddress(): string {
    this.count += 1;
    return `198.51.${100 + (this.count >> 8)}.${this.count & 255}`;
  }

  createClientFrom(address = this.generateAddress()): HttpClient {
    return this.harness.http.with({ 'x-forwarded-for': address });
  }

  openBrowser(address = this.generateAddress()): TestBrowser {
    return new TestBrowser({ publicAddress, url: this.harness.url }, { 'x-forwarded-for': address });
  }

  /** Signs in with the provider; `me` is the response about the signed-in user. */
  async signIn({ browser = this.openBrowser(), email = `dana@${this.domain}` } = {}) {
    const answer = await browser.openAddress(await browser.signInAtProvider(email));
    return { ...answer, browser, me: await browser.openAddress('/api/auth/me') };
  }

  async listUsersByEmail(email: string) {
    return (await this.tenant.as.admin.get(`/api/users?q=${encodeURIComponent(email)}`)).body.users;
  }

  async listAuditEntries(action: string, reader: HttpClient = this.tenant.as.admin) {
    return (await reader.get(`/api/audit?action=${action}`)).body.entries;
  }
}
