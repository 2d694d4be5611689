import type { AgentCommand, WebhookType } from '@muster/contracts';
import { type Clock, newId } from '@muster/platform';
import {
  computeAuthenticatorCode,
  FakeWorker,
  type Harness,
  makeAgent,
  makeJob,
  makeUser,
  makeWorkflow,
  startHarness,
  type Tenant,
  testPassword,
  waitFor,
} from '@muster/testing';
import { Client } from 'pg';
import { standalone } from '../standalone';
import { type Received, Receiver } from './receiver.harness';

/** The service with an organization, its agent and a webhook receiver. */
export class WebhookFixture {
  private constructor(
    readonly harness: Harness,
    readonly tenant: Tenant,
    readonly receiver: Receiver,
    readonly worker: FakeWorker,
    readonly ids: { workflowId: string; agentId: string },
  ) {}

  static async open(env: Record<string, string> = {}, clock?: Clock): Promise<WebhookFixture> {
    const harness = await startHarness({
      ...standalone,
      clock,
      env: { OUTBOUND_ALLOW: '127.0.0.1', OUTBOX_SWEEP_MS: '200', ...env },
    });
    return WebhookFixture.createIn(harness, await harness.makeTenant());
  }

  /** Opens the fixture in a service that the test has already started. */
  static async createIn(harness: Harness, tenant: Tenant): Promise<WebhookFixture> {
    const { organizationId } = tenant;
    const worker = await FakeWorker.startForOrganization(organizationId);
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId });
    const { id: agentId } = await makeAgent(harness.db, {
      ...{ organizationId, status: 'online', provider: 'external', tunnelUrl: worker.url, seenFrom: '127.0.0.1' },
      lastSeen: new Date(),
    });
    return new WebhookFixture(harness, tenant, await Receiver.start(), worker, { workflowId, agentId });
  }

  async close(): Promise<void> {
    await this.harness.close();
    await this.stopReceiver();
  }

  /** Closes everything but the service, for a test that closes the service itself. */
  async stopReceiver(): Promise<void> {
    await this.worker.stop();
    await this.receiver.stop();
  }

  get admin() {
    return this.tenant.as.admin;
  }

  /** Creates an API key that is a year old and expires in ten days. */
  async createExpiringKey(): Promise<string> {
    const { id } = (await this.admin.post('/api/api-keys', { name: 'Claims', scope: 'api' })).body;
    await this.querySql(
      `UPDATE api_key SET expires_at = now() + interval '10 days', created_at = now() - interval '1 year' WHERE id = $1`,
      id,
    );
    return id;
  }

  /** Submits a feature request with this title, and returns its id. */
  async submitFeedback(title: string): Promise<string> {
    const form = new FormData();
    form.set('payload', JSON.stringify({ type: 'feature_request', title, description: 'Please.' }));
    const { url, headers } = this.admin;
    const created = await fetch(`${url}/api/feedback-submissions`, { method: 'POST', headers, body: form });
    return ((await created.json()) as { id: string }).id;
  }

  /** Creates an endpoint at a path of the receiver. */
  async createEndpoint(
    path: string,
    events: string[] = ['*'],
    more: object = {},
  ): Promise<{ id: string; secret: string }> {
    const created = await this.admin.post('/api/webhook-endpoints', { url: this.receiver.url + path, events, ...more });
    expect([created.status, created.body]).toEqual([201, expect.objectContaining({ events })]);
    return created.body;
  }

  async listDeliveries(id: string, query = ''): Promise<any[]> {
    return (await this.admin.get(`/api/webhook-endpoints/${id}/deliveries${query}`)).body.deliveries;
  }

  querySql(sql: string, ...values: unknown[]): Promise<any[]> {
    return this.harness.db.query('system', sql, values);
  }

  /** Launches a run and reports its start and its end; returns its job id. */
  async runJob(to: 'completed' | 'failed' = 'completed', more: object = {}, fields: object = {}): Promise<string> {
    const pushed = new Promise<AgentCommand>((resolve) => {
      this.worker.answer = (command) => {
        resolve(command);
        return 202;
      };
    });
    const { body } = await this.tenant.api.post('/api/jobs/launch', { ...this.ids, ...more });
    expect((await pushed).jobId).toBe(body.jobId);
    await this.reportJob(body.jobId, 'running');
    await this.reportJob(body.jobId, to, fields);
    return body.jobId;
  }

  /** Reports that a run's account failed, which sets the account aside; returns the delivery of the event. */
  async reportFailedAccount(delivered: (type: WebhookType, matches: (data: any) => boolean) => Promise<Received>) {
    const { organizationId } = this.tenant;
    const { id: jobId } = await makeJob(this.harness.db, {
      ...{ organizationId, status: 'running', startedAt: new Date(), commandId: newId() },
    });
    const name = newId();
    await this.admin.put('/api/vault/DD_PASS_1', { value: 'hunter2' });
    await this.admin.put(`/api/accounts/${name}`, { pool: 'delta-dental', vaultKeys: { password: 'DD_PASS_1' } });
    await this.querySql(
      `INSERT INTO account_use (job_id, pool, organization_id, agent_id, priority, queued_at, account, since)
       SELECT id, 'delta-dental', organization_id, agent_id, priority, queued_at, $2, muster_now() FROM job WHERE id = $1`,
      ...[jobId, name],
    );
    const report = { reason: 'locked', message: 'The portal says so.' };
    const { body } = await this.tenant.worker.post(`/api/jobs/${jobId}/accounts/delta-dental/failed`, report);
    expect(body).toEqual({ accepted: true });
    const setAside = await delivered('account.set_aside', (data) => data.name === name);
    expect(setAside.event.data).toMatchObject({ pool: 'delta-dental', status: 'set_aside', jobId, ...report });
    return setAside;
  }

  /** Creates a running job that asks for a code. */
  async askForCode(timeoutSeconds = 60): Promise<{ questionId: string }> {
    const { organizationId } = this.tenant;
    const { id } = await makeJob(this.harness.db, {
      ...{ organizationId, status: 'running', startedAt: new Date(), commandId: newId() },
    });
    const body = { questionKey: 'one', question: 'Code from the phone', kind: 'code', timeoutSeconds };
    const created = await this.tenant.worker.post(`/api/jobs/${id}/questions`, body);
    expect(created.status).toBe(201);
    return created.body as { questionId: string };
  }

  async reportJob(jobId: string, status: string, fields: object = {}): Promise<void> {
    const { body } = await this.tenant.worker.post('/api/job-webhook', { jobId, status, ...fields });
    expect(body).toEqual({ accepted: true, status });
  }

  /** Defers the processing of new webhook events until the returned function is called. */
  async holdEvents(): Promise<() => Promise<void>> {
    await this.querySqlAsOwner(`
      CREATE FUNCTION hold_event() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN NEW.rests_until := 'infinity'; RETURN NEW; END $$;
      CREATE TRIGGER hold_event BEFORE INSERT ON webhook_event FOR EACH ROW EXECUTE FUNCTION hold_event()`);
    return () =>
      this.querySqlAsOwner(`DROP TRIGGER hold_event ON webhook_event; DROP FUNCTION hold_event();
        UPDATE webhook_event SET rests_until = NULL`);
  }

  private async querySqlAsOwner(sql: string): Promise<void> {
    const owner = new Client({ connectionString: this.harness.databaseUrl });
    await owner.connect();
    await owner.query(sql).finally(() => owner.end());
  }

  /** Returns a path that no other test uses. */
  generatePath(): string {
    return `/${newId()}`;
  }

  /** Signs in with the emergency access of another organization, which enforces single sign-on. */
  async signInByBreakGlass(): Promise<Received> {
    const { harness, receiver } = this;
    const { organizationId, as } = await harness.makeTenant();
    const at = this.generatePath();
    const body = { url: receiver.url + at, events: ['user.break_glass'] };
    expect((await as.admin.post('/api/webhook-endpoints', body)).status).toBe(201);
    const email = 'owner@glass.test';
    const { id } = await makeUser(harness.db, { organizationId, role: 'admin', email });
    const session = await harness.http.signIn(email, testPassword);
    const { secret } = (await session.post('/api/auth/totp')).body;
    const buildCodeBody = (windows: number) => ({ code: computeAuthenticatorCode(secret, new Date(), windows) });
    expect((await session.post('/api/auth/totp/confirm', buildCodeBody(0))).status).toBe(200);
    await as.admin.patch(`/api/users/${id}`, { breakGlass: true });
    await as.super_admin.patch(`/api/admin/organizations/${organizationId}`, { domains: ['glass.test'] });
    const provider = { issuer: 'https://idp.glass.test', clientId: 'muster', clientSecret: 'secret' };
    await as.admin.put('/api/organization/sso', { ...provider, domains: ['glass.test'], enforced: true });
    const { ticket } = (await harness.http.post('/api/auth/login', { email, password: testPassword })).body;
    const login = await harness.http.post('/api/auth/login/totp', { ticket, ...buildCodeBody(1) });
    expect(login.status).toBe(200);
    const received = await waitFor('user.break_glass', () => receiver.listReceivedAt(at)[0], 30_000);
    expect(received!.event.data).toMatchObject({ userId: id, email, secondFactor: 'code' });
    return received!;
  }
}
