import { newId } from '@muster/platform';
import {
  type Answer,
  EventStream,
  Mailbox,
  makeAgent,
  makeApiKey,
  makeJob,
  makeWorkflow,
  waitFor,
} from '@muster/testing';
import { WebhookFixture } from '../webhooks/webhook-fixture.harness';

/** The service with an organization, its agent, a receiver and a mail relay, and helpers for its alerts. */
export class AlertsFixture {
  private constructor(
    readonly webhooks: WebhookFixture,
    readonly mailbox: Mailbox,
  ) {}

  static async open(): Promise<AlertsFixture> {
    const mailbox = await Mailbox.start();
    const env = { SMTP_URL: mailbox.url, SMTP_FROM: 'Muster <muster@practice.example>' };
    const webhooks = await WebhookFixture.open({
      ...{ ...env, PUBLIC_APP_URL: 'https://muster.example.com', WAKE_TIMEOUT_MS: '1000' },
    });
    return new AlertsFixture(webhooks, mailbox);
  }

  async close(): Promise<void> {
    await this.webhooks.close();
    await this.mailbox.stop();
  }

  get admin() {
    return this.webhooks.admin;
  }
  get tenant() {
    return this.webhooks.tenant;
  }
  get db() {
    return this.webhooks.harness.db;
  }

  queryRows(sql: string, ...values: unknown[]): Promise<any[]> {
    return this.webhooks.querySql(sql, ...values);
  }

  setRule(rule: string, body: object = {}): Promise<Answer> {
    return this.admin.put(`/api/alert-rules/${rule}`, { enabled: true, ...body });
  }

  /** Turns a rule on. */
  async enableRule(rule: string, body: object = {}): Promise<void> {
    const answer = await this.setRule(rule, body);
    expect([answer.status, answer.body]).toEqual([200, expect.objectContaining({ rule, enabled: true })]);
  }

  /** Lists the alerts about a subject, oldest first. */
  async listAlertsAbout(subjectId: string, rule?: string): Promise<any[]> {
    const query = rule ? `?limit=200&rule=${rule}` : '?limit=200';
    const { body } = await this.tenant.api.get(`/api/alerts${query}`);
    return body.alerts.filter(({ subject }: any) => subject.id === subjectId).reverse();
  }

  /** Waits until the last alert about a subject has these fields, and returns it. */
  waitForAlert(subjectId: string, fields: Record<string, unknown>, rule?: string): Promise<any> {
    return waitFor(
      `an alert about ${subjectId} with ${JSON.stringify(fields)}`,
      async () => {
        const last = (await this.listAlertsAbout(subjectId, rule)).at(-1);
        return last && Object.entries(fields).every(([name, value]) => last[name] === value) && last;
      },
      30_000,
    );
  }

  /** Creates a mail channel that receives only alerts, because its event never occurs; returns its id and address. */
  async createMailChannel(more: object = {}): Promise<{ id: string; to: string }> {
    const to = `${newId()}@practice.example`;
    const channel = { name: 'Front desk', kind: 'email', target: { to: [to] }, events: ['pack.promoted'], ...more };
    const created = await this.admin.post('/api/notification-channels', channel);
    expect(created.status).toBe(201);
    return { id: created.body.id, to };
  }

  /** Opens the organization's event stream, and waits until it is ready to receive events. */
  async followStream(query: string): Promise<EventStream> {
    const { organizationId } = this.tenant;
    const { secret } = await makeApiKey(this.db, { organizationId });
    const stream = await EventStream.open(`${this.webhooks.harness.url}/api/events${query}`, { 'x-api-key': secret });
    await waitFor('the start of the stream', () => stream.retry);
    return stream;
  }

  waitForDeliveries(channelId: string, count: number): Promise<any[]> {
    return waitFor(`${count} deliveries of ${channelId}`, async () => {
      const found = await this.queryRows(
        'SELECT type FROM webhook_delivery WHERE endpoint_id = $1 ORDER BY id',
        channelId,
      );
      return found.length >= count && found;
    });
  }

  /** Creates a workflow that no other test uses. */
  async makeWorkflowId(): Promise<string> {
    return (await makeWorkflow(this.db, { organizationId: this.tenant.organizationId })).id;
  }

  makeAgent(more: object = {}): Promise<{ id: string }> {
    return makeAgent(this.db, { organizationId: this.tenant.organizationId, name: newId(), ...more });
  }

  makeJob(more: object = {}): Promise<{ id: string; agentId: string; workflowId: string }> {
    return makeJob(this.db, { organizationId: this.tenant.organizationId, ...more });
  }

  /** Creates a running job that asks a question, and returns the question's id. */
  async askQuestion(more: object = {}): Promise<string> {
    const { id } = await this.makeJob({ status: 'running', startedAt: new Date(), commandId: newId() });
    const body = { questionKey: 'one', question: 'Code <from> the phone', kind: 'text', timeoutSeconds: 120, ...more };
    const created = await this.tenant.worker.post(`/api/jobs/${id}/questions`, body);
    expect(created.status).toBe(201);
    return created.body.questionId;
  }
}
