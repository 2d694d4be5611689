import { waitFor } from '@muster/testing';
import { AlertsFixture } from './alerts.harness';

jest.setTimeout(90_000);

describe('alerts about failed and waiting runs', () => {
  let fixture: AlertsFixture;

  beforeAll(async () => {
    fixture = await AlertsFixture.open();
  });
  afterAll(() => fixture.close());

  const endRun = (workflowId: string, to: 'completed' | 'failed') => fixture.webhooks.runJob(to, { workflowId });
  const waitForStreak = (workflowId: string, failures: number) =>
    waitFor('the failed runs to be counted', async () => {
      const [row] = await fixture.queryRows('SELECT failures FROM alert_streak WHERE workflow_id = $1', workflowId);
      return row?.failures === failures;
    });

  it('an alert about failed runs is sent for the first failed run, counts further ones, and a completed run resolves it', async () => {
    const { id: channelId, to } = await fixture.createMailChannel();
    await fixture.enableRule('run_failed', { channelIds: [channelId] });
    const workflowId = await fixture.makeWorkflowId();
    await endRun(workflowId, 'failed');
    const first = await fixture.waitForAlert(workflowId, { status: 'open', count: 1 });
    expect(first).toEqual({
      ...{ id: expect.any(String), rule: 'run_failed', status: 'open', count: 1 },
      subject: { type: 'workflow', id: workflowId, name: expect.any(String) },
      ...{ openedAt: expect.any(String), resolvedAt: null, acknowledgedBy: null, acknowledgedAt: null },
    });
    const [mail] = await fixture.mailbox.waitForMails(to);
    expect(mail!.raw).toMatch(/Subject: Run failed: /);
    expect(mail!.raw).toContain('https://muster.example.com/app/inbox');
    await endRun(workflowId, 'failed');
    await fixture.waitForAlert(workflowId, { id: first.id, count: 2 });
    await endRun(workflowId, 'completed');
    await fixture.waitForAlert(workflowId, { id: first.id, status: 'resolved' });
    await endRun(workflowId, 'failed');
    const second = await fixture.waitForAlert(workflowId, { status: 'open', count: 1 });
    expect(second.id).not.toBe(first.id);
    const sent = (await fixture.waitForDeliveries(channelId, 3)).map(({ type }) => type);
    expect(sent).toEqual(['alert.opened', 'alert.resolved', 'alert.opened']);
  });

  it('a client of the organization’s event stream receives each change of an alert when it happens', async () => {
    await fixture.enableRule('run_failed');
    const stream = await fixture.followStream('?types=alert');
    const workflowId = await fixture.makeWorkflowId();
    const listAlertEvents = () =>
      stream.events
        .filter(({ data }) => data.subjectId === workflowId)
        .map(({ event, data: { alertId, rule, status, count } }) => ({ event, alertId, rule, status, count }));
    await endRun(workflowId, 'failed');
    const { id: alertId } = await fixture.waitForAlert(workflowId, { status: 'open', count: 1 });
    const change = { event: 'alert', alertId, rule: 'run_failed' };
    await waitFor('the alert on the stream', () => listAlertEvents().length === 1);
    expect(listAlertEvents()).toEqual([{ ...change, status: 'open', count: 1 }]);
    await endRun(workflowId, 'failed');
    await waitFor('the second failed run on the stream', () => listAlertEvents().length === 2);
    expect((await fixture.tenant.as.member.post(`/api/alerts/${alertId}/acknowledge`, {})).status).toBe(200);
    await waitFor('the acknowledgement on the stream', () => listAlertEvents().length === 3);
    await endRun(workflowId, 'completed');
    await waitFor('the resolution on the stream', () => listAlertEvents().length === 4);
    expect(listAlertEvents().slice(1)).toEqual([
      { ...change, status: 'open', count: 2 },
      { ...change, status: 'open', count: 2 },
      { ...change, status: 'resolved', count: 2 },
    ]);
    stream.close();
  });

  it('an alert rule in the mode “every” sends its alert about failed runs again for each further failed run', async () => {
    const { id: channelId } = await fixture.createMailChannel();
    await fixture.enableRule('run_failed', { when: 'every', channelIds: [channelId] });
    const workflowId = await fixture.makeWorkflowId();
    for (const _ of [1, 2, 3]) await endRun(workflowId, 'failed');
    await fixture.waitForAlert(workflowId, { status: 'open', count: 3 });
    expect(await fixture.listAlertsAbout(workflowId)).toHaveLength(1);
    expect(await fixture.waitForDeliveries(channelId, 3)).toHaveLength(3);
  });

  it('an alert rule in the mode “in_a_row” opens an alert after the set number of runs failed without a completed one', async () => {
    await fixture.enableRule('run_failed', { when: 'in_a_row', times: 2 });
    const workflowId = await fixture.makeWorkflowId();
    await endRun(workflowId, 'failed');
    await waitForStreak(workflowId, 1);
    await endRun(workflowId, 'completed');
    await waitForStreak(workflowId, 0);
    await endRun(workflowId, 'failed');
    await waitForStreak(workflowId, 1);
    expect(await fixture.listAlertsAbout(workflowId)).toEqual([]);
    await endRun(workflowId, 'failed');
    await fixture.waitForAlert(workflowId, { status: 'open', count: 2 });
  });

  it('a completed run resolves the alert about an earlier failed run, even if the events are evaluated in reverse order', async () => {
    await fixture.enableRule('run_failed');
    const workflowId = await fixture.makeWorkflowId();
    const release = await fixture.webhooks.holdEvents();
    await endRun(workflowId, 'failed');
    const completed = await endRun(workflowId, 'completed');
    await fixture.queryRows('UPDATE webhook_event SET rests_until = NULL WHERE subject_id = $1', completed);
    await waitFor('the completed run to be evaluated', async () => {
      const found = await fixture.queryRows('SELECT completed_at FROM alert_streak WHERE workflow_id = $1', workflowId);
      return found.length === 1;
    });
    await release();
    await fixture.waitForAlert(workflowId, { status: 'resolved', count: 1 });
    expect(await fixture.listAlertsAbout(workflowId)).toHaveLength(1);
  });

  it('turning off an alert rule resolves its alerts, and further runs store no events for the rule', async () => {
    await fixture.enableRule('run_failed');
    const workflowId = await fixture.makeWorkflowId();
    await endRun(workflowId, 'failed');
    await fixture.waitForAlert(workflowId, { status: 'open' });
    expect((await fixture.setRule('run_failed', { enabled: false })).status).toBe(200);
    await fixture.waitForAlert(workflowId, { status: 'resolved' });
    const jobId = await endRun(workflowId, 'failed');
    expect(await fixture.queryRows('SELECT type FROM webhook_event WHERE subject_id = $1', jobId)).toEqual([]);
  });

  it('an alert about a workflow is resolved when the workflow is deleted', async () => {
    await fixture.enableRule('run_failed');
    const workflowId = await fixture.makeWorkflowId();
    await endRun(workflowId, 'failed');
    await fixture.waitForAlert(workflowId, { status: 'open' });
    await fixture.queryRows('DELETE FROM workflow WHERE id = $1', workflowId);
    await fixture.waitForAlert(workflowId, { status: 'resolved' });
  });

  it('only a run that waits longer than the limit opens an alert, which the end of the run resolves', async () => {
    await fixture.enableRule('run_waiting', { minutes: 30 });
    const { id: agentId } = await fixture.makeAgent();
    const makeQueuedJob = (minutes: number) => {
      const queuedAt = new Date(Date.now() - minutes * 60_000);
      return fixture.makeJob({ agentId, status: 'queued', queuedAt, notBefore: queuedAt });
    };
    const [short, long] = [await makeQueuedJob(5), await makeQueuedJob(60)];
    const alert = await fixture.waitForAlert(long.id, { rule: 'run_waiting', status: 'open' });
    expect(alert.subject.type).toBe('job');
    expect(await fixture.listAlertsAbout(short.id)).toEqual([]);
    await fixture.tenant.api.post(`/api/jobs/${long.id}/cancel`, {});
    await fixture.waitForAlert(long.id, { status: 'resolved' });
  });
});
