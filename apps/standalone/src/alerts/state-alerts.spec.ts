import { newId } from '@muster/platform';
import { ControlPlane } from '../webhooks/control-plane.harness';
import { AlertsFixture } from './alerts.harness';

jest.setTimeout(90_000);

describe('alerts about questions, schedules, machines, spend and messages', () => {
  let fixture: AlertsFixture;
  let plane: ControlPlane;

  beforeAll(async () => {
    fixture = await AlertsFixture.open();
    plane = await ControlPlane.start();
    // Idle stop is turned off, so that it does not stop the machines of these tests.
    await fixture.admin.patch('/api/organization/settings', { autoStopEnabled: false });
  });
  afterAll(async () => {
    await fixture.close();
    await plane.stop();
  });

  it('a question opens an alert with a link for the answer, and the answer resolves the alert', async () => {
    const { id: mailId, to } = await fixture.createMailChannel();
    const path = fixture.webhooks.generatePath();
    const url = fixture.webhooks.receiver.url + path;
    const slack = await fixture.createMailChannel({ kind: 'slack', target: { url } });
    await fixture.enableRule('question_asked', { channelIds: [mailId, slack.id] });
    const id = await fixture.askQuestion();
    const alert = await fixture.waitForAlert(id, { rule: 'question_asked', status: 'open', count: 1 });
    expect(alert.subject).toEqual({ type: 'question', id, name: 'Code <from> the phone' });
    const [mail] = await fixture.mailbox.waitForMails(to);
    expect(mail!.raw).toContain('https://muster.example.com/a/');
    const [posted] = await fixture.webhooks.receiver.waitForDeliveries(path);
    const text = JSON.stringify(posted!.event);
    expect(text).toContain('Code &lt;from&gt; the phone');
    expect(text).toContain('https://muster.example.com/app/inbox');
    await fixture.tenant.as.member.post(`/api/questions/${id}/answer`, { answer: 'seven' });
    await fixture.waitForAlert(id, { status: 'resolved' }, 'question_asked');
    const sent = (await fixture.waitForDeliveries(mailId, 2)).map(({ type }) => type);
    expect(sent).toEqual(['alert.opened', 'alert.resolved']);
    await fixture.setRule('question_asked', { enabled: false });
  });

  it('a question that expires soon opens an alert, which is resolved when a person declines the question', async () => {
    await fixture.enableRule('question_expiring', { minutes: 5 });
    const [later, soon] = [await fixture.askQuestion({ timeoutSeconds: 3600 }), await fixture.askQuestion()];
    await fixture.waitForAlert(soon, { rule: 'question_expiring', status: 'open' });
    expect(await fixture.listAlertsAbout(later)).toEqual([]);
    await fixture.tenant.as.member.post(`/api/questions/${soon}/decline`, {});
    await fixture.waitForAlert(soon, { status: 'resolved' });
  });

  it('a webhook channel receives an alert as a signed event with the alert as its data', async () => {
    const path = fixture.webhooks.generatePath();
    const url = fixture.webhooks.receiver.url + path;
    const { id: channelId } = await fixture.createMailChannel({ kind: 'webhook', target: { url } });
    await fixture.enableRule('question_expiring', { minutes: 5, channelIds: [channelId] });
    const id = await fixture.askQuestion();
    const alert = await fixture.waitForAlert(id, { status: 'open' });
    const [received] = await fixture.webhooks.receiver.waitForDeliveries(path);
    expect(received!.event).toMatchObject({ type: 'alert.opened', data: { id: alert.id, subject: alert.subject } });
    await fixture.tenant.as.member.post(`/api/questions/${id}/answer`, { answer: 'seven' });
    const [, resolved] = await fixture.webhooks.receiver.waitForDeliveries(path, 2);
    expect(resolved!.event).toMatchObject({
      ...{ type: 'alert.resolved', data: { id: alert.id, status: 'resolved', resolvedAt: expect.any(String) } },
    });
  });

  it('skipped times of a schedule count in one alert, which is resolved when the schedule launches a run', async () => {
    await fixture.enableRule('schedule_missed');
    const { id: agentId } = await fixture.makeAgent({ status: 'online', lastSeen: new Date() });
    const body = { name: newId(), scriptId: await fixture.makeWorkflowId(), agentId, cronExpression: '0 6 * * *' };
    const created = await fixture.tenant.api.post('/api/schedules', { ...body, idempotencyWindowMinutes: 60 });
    const scheduleId = created.body.id as string;
    const executeSchedule = () => fixture.tenant.api.post('/api/schedules/execute', { force: true, scheduleId });
    for (const _ of [1, 2, 3]) await executeSchedule();
    const alert = await fixture.waitForAlert(scheduleId, { rule: 'schedule_missed', status: 'open', count: 2 });
    expect(alert.subject).toEqual({ type: 'schedule', id: scheduleId, name: body.name });
    await fixture.queryRows('UPDATE schedule SET idempotency_window_minutes = NULL WHERE id = $1', scheduleId);
    await executeSchedule();
    await fixture.waitForAlert(scheduleId, { id: alert.id, status: 'resolved' });
  });

  it('an offline machine opens an alert if a run waits for it, and the end of the run resolves the alert', async () => {
    await fixture.enableRule('agent_offline');
    const [idle, busy] = [
      await fixture.makeAgent({ status: 'offline' }),
      await fixture.makeAgent({ status: 'offline' }),
    ];
    const { id: jobId } = await fixture.makeJob({ agentId: busy.id, status: 'queued' });
    await fixture.waitForAlert(busy.id, { rule: 'agent_offline', status: 'open' });
    expect(await fixture.listAlertsAbout(idle.id)).toEqual([]);
    await fixture.tenant.api.post(`/api/jobs/${jobId}/cancel`, {});
    await fixture.waitForAlert(busy.id, { status: 'resolved' }, 'agent_offline');
  });

  it('failed starts of a machine count in one alert, which is resolved when its worker reports', async () => {
    await fixture.enableRule('wake_failed');
    const body = { name: newId(), provider: 'http', providerConfig: plane.providerConfig };
    const agentId = (await fixture.admin.post('/api/agents', body)).body.agent.id as string;
    const stopAndWakeAgent = async () => {
      await fixture.queryRows(`UPDATE agent SET status = 'stopped' WHERE id = $1`, agentId);
      await fixture.admin.post(`/api/agent/${agentId}/action`, { action: 'start' });
    };
    await stopAndWakeAgent();
    const alert = await fixture.waitForAlert(agentId, { rule: 'wake_failed', status: 'open', count: 1 });
    await stopAndWakeAgent();
    await fixture.waitForAlert(agentId, { id: alert.id, count: 2 });
    await fixture.tenant.worker.post('/api/agents/handshake', { agentId, bootId: newId(), workerVersion: '1' });
    await fixture.waitForAlert(agentId, { id: alert.id, status: 'resolved' }, 'wake_failed');
  });

  it('a machine that is on without work for longer than the limit opens an alert, which activity resolves', async () => {
    await fixture.enableRule('machine_on_without_reason', { hours: 2 });
    const makeIdleMachine = async (hours: number, more: object = {}) => {
      const since = new Date(Date.now() - hours * 3_600_000);
      const times = { onSince: since, statusSince: since, lastActivityAt: since, lastSeen: new Date() };
      return (await fixture.makeAgent({ provider: 'http', status: 'online', ...times, ...more })).id;
    };
    const [short, pinned] = [await makeIdleMachine(1), await makeIdleMachine(3, { idleAutoStopExempt: true })];
    const long = await makeIdleMachine(3);
    await fixture.waitForAlert(long, { rule: 'machine_on_without_reason', status: 'open' });
    for (const id of [short, pinned]) expect(await fixture.listAlertsAbout(id)).toEqual([]);
    await fixture.queryRows('UPDATE agent SET last_activity_at = muster_now() WHERE id = $1', long);
    await fixture.waitForAlert(long, { status: 'resolved' }, 'machine_on_without_reason');
  });

  it('spend that reaches a percentage of the monthly limit opens an alert, which a higher limit resolves', async () => {
    const { organizationId } = fixture.tenant;
    const setLimit = (usd: number) =>
      fixture.queryRows(
        'UPDATE organization_settings SET monthly_spend_limit_micros = $2 WHERE organization_id = $1',
        ...[organizationId, usd * 1_000_000],
      );
    await setLimit(10);
    await fixture.queryRows(
      `INSERT INTO usage_counter (organization_id, month, spend_micros)
       VALUES ($1, date_trunc('month', muster_now() AT TIME ZONE 'UTC')::date, 7000000)
       ON CONFLICT (organization_id, month) DO UPDATE SET spend_micros = 7000000`,
      organizationId,
    );
    await fixture.enableRule('spend', { percent: 70 });
    const alert = await fixture.waitForAlert('monthlySpendLimitUsd', { rule: 'spend', status: 'open' });
    expect(alert.subject).toEqual({ type: 'limit', id: 'monthlySpendLimitUsd', name: 'Monthly spend limit' });
    await setLimit(100);
    await fixture.waitForAlert('monthlySpendLimitUsd', { status: 'resolved' });
  });

  it('a webhook endpoint that the service turns off opens an alert, which turning it on resolves', async () => {
    await fixture.enableRule('webhook_disabled');
    const path = fixture.webhooks.generatePath();
    fixture.webhooks.receiver.answers.set(path, (response) => response.writeHead(410).end());
    const { id } = await fixture.webhooks.createEndpoint(path, ['pack.promoted'], { description: 'Billing system' });
    await fixture.admin.post(`/api/webhook-endpoints/${id}/test`);
    const alert = await fixture.waitForAlert(id, { rule: 'webhook_disabled', status: 'open' });
    expect(alert.subject).toEqual({ type: 'webhook_endpoint', id, name: 'Billing system' });
    await fixture.admin.patch(`/api/webhook-endpoints/${id}`, { enabled: true });
    await fixture.waitForAlert(id, { id: alert.id, status: 'resolved' });
  });

  it('all dead letters of a queue count in one alert, which is resolved when the queue has no dead letters', async () => {
    await fixture.enableRule('dead_letter');
    const insertStuckMessage = () =>
      fixture.queryRows(
        `INSERT INTO outbox (id, queue, name, payload, organization_id, next_publish_at)
         VALUES ($1, 'dispatch', 'dispatch-agent', '{}', $2, NULL)`,
        ...[newId(), fixture.tenant.organizationId],
      );
    await insertStuckMessage();
    const alert = await fixture.waitForAlert('dispatch', { rule: 'dead_letter', status: 'open', count: 1 });
    await insertStuckMessage();
    await fixture.waitForAlert('dispatch', { id: alert.id, count: 2 });
    const letters = (await fixture.admin.get('/api/dead-letters')).body.deadLetters;
    for (const { id } of letters) await fixture.queryRows('DELETE FROM outbox WHERE id = $1', id);
    await fixture.waitForAlert('dispatch', { id: alert.id, status: 'resolved' });
  });

  it('a channel’s filter applies to alerts', async () => {
    const wanted = await fixture.makeWorkflowId();
    const { id: channelId } = await fixture.createMailChannel({ filter: { workflowIds: [wanted] } });
    await fixture.enableRule('run_failed', { channelIds: [channelId] });
    const other = await fixture.makeWorkflowId();
    await fixture.webhooks.runJob('failed', { workflowId: other });
    await fixture.waitForAlert(other, { status: 'open' });
    await fixture.webhooks.runJob('failed', { workflowId: wanted });
    const { id } = await fixture.waitForAlert(wanted, { status: 'open' });
    await fixture.waitForDeliveries(channelId, 1);
    const sent = await fixture.queryRows(
      'SELECT e.subject_id FROM webhook_delivery d JOIN webhook_event e ON e.id = d.event_id WHERE d.endpoint_id = $1',
      channelId,
    );
    expect(sent).toEqual([{ subjectId: id }]);
    for (const workflowId of [other, wanted]) {
      await fixture.webhooks.runJob('completed', { workflowId });
      await fixture.waitForAlert(workflowId, { status: 'resolved' });
    }
    const deliveries = (await fixture.waitForDeliveries(channelId, 2)).map(({ type }) => type);
    expect(deliveries).toEqual(['alert.opened', 'alert.resolved']);
  });
});
