import { webhookTypes, type WebhookType } from '@muster/contracts';
import { newId } from '@muster/platform';
import { makeInstallation, makeJob, makeWorkflow, type Tenant, waitFor } from '@muster/testing';
import { FakeBrowsers } from '../autopilot/fake-browser.harness';
import { ControlPlane } from './control-plane.harness';
import { type Received, verifySignature } from './receiver.harness';
import { WebhookFixture } from './webhook-fixture.harness';

jest.setTimeout(120_000);

/** Causes each event type of the contract through the API. A type that nothing emits fails here. */
describe('every type of webhook', () => {
  let browsers: FakeBrowsers;
  let fixture: WebhookFixture;
  let plane: ControlPlane;
  let endpoint: { id: string; secret: string };
  const path = '/everything';
  const impatient = { STALE_JOBS_TICK_MS: '500', JOB_STALLED_AFTER_MS: '60000', MAINTENANCE_TICK_MS: '1000' };

  beforeAll(async () => {
    browsers = await FakeBrowsers.start({ OUTBOX_SWEEP_MS: '200', WAKE_TIMEOUT_MS: '1000', ...impatient });
    fixture = await WebhookFixture.createIn(browsers.harness, browsers.tenant);
    plane = await ControlPlane.start();
    endpoint = await fixture.createEndpoint(path);
  });
  afterAll(async () => {
    await browsers.end();
    await fixture.stopReceiver();
    await plane.stop();
  });

  const waitForDelivery = (type: WebhookType, matches: (data: any) => boolean = () => true): Promise<Received> =>
    waitFor(
      type,
      () => fixture.receiver.listReceivedAt(path).find(({ event }) => event.type === type && matches(event.data)),
      30_000,
    ) as Promise<Received>;
  const causeAlert = async (status: 'open' | 'resolved') => {
    await fixture.admin.put('/api/alert-rules/question_asked', { enabled: true });
    const { questionId } = await askForCode();
    if (status === 'resolved') {
      await waitForDelivery('alert.opened', ({ subject }) => subject.id === questionId);
      await fixture.tenant.api.post(`/api/questions/${questionId}/answer`, { answer: '482913' });
    }
    const type = status === 'open' ? 'alert.opened' : 'alert.resolved';
    const received = await waitForDelivery(type, ({ subject }) => subject.id === questionId);
    expect(received.event.data).toMatchObject({ rule: 'question_asked', status, count: 1 });
    return received;
  };
  const hasResourceId = (id: string) => (data: any) => data.id === id;
  const createAgent = async (body: object) => {
    const created = await fixture.admin.post('/api/agents', { name: newId(), provider: 'external', ...body });
    expect(created.status).toBe(201);
    return created.body.agent.id as string;
  };
  const sendHandshake = (agentId: string, bootId = newId()) =>
    fixture.tenant.worker.post('/api/agents/handshake', { agentId, bootId, workerVersion: '1' });
  const createSchedule = async (more: object = {}): Promise<string> => {
    const { workflowId: scriptId, agentId } = fixture.ids;
    const body = { name: newId(), scriptId, agentId, cronExpression: '0 6 * * *', ...more };
    return (await fixture.tenant.api.post('/api/schedules', body)).body.id;
  };
  const startSession = async (body: object = {}) => {
    const own = browsers.getClient(await browsers.makeAgent());
    const step = { id: 'do', title: 'Do it', instruction: 'Do it.', expect: { text: 'Done' }, kind: 'browse' };
    const task = {
      ...{ title: newId(), goal: 'Have it done.', startUrl: 'http://portal.test/', inputs: [], steps: [step] },
      success: { description: 'it is done' },
    };
    const { sessionId } = (await own.act({ action: 'start', task, ...body })).body;
    return { ...own, sessionId: sessionId as string };
  };

  const askForCode = (timeoutSeconds?: number) => fixture.askForCode(timeoutSeconds);

  /** For each type, a function that causes the event and returns its delivery. */
  const causes: Record<WebhookType, () => Promise<Received>> = {
    'job.started': async () => waitForDelivery('job.started', hasResourceId(await fixture.runJob())),
    'job.completed': async () => waitForDelivery('job.completed', hasResourceId(await fixture.runJob())),
    'job.failed': async () => waitForDelivery('job.failed', hasResourceId(await fixture.runJob('failed'))),
    'job.cancelled': async () => {
      const agentId = await createAgent({});
      const { jobId } = (await fixture.tenant.api.post('/api/jobs/launch', { ...fixture.ids, agentId })).body;
      const other = (await fixture.tenant.api.post('/api/jobs/launch', { ...fixture.ids, agentId })).body.jobId;
      await fixture.tenant.api.post(`/api/jobs/${jobId}/cancel`, {});
      await fixture.tenant.api.post('/api/jobs/cancel', { ids: [other] });
      await waitForDelivery('job.cancelled', hasResourceId(other));
      return waitForDelivery('job.cancelled', hasResourceId(jobId));
    },
    'job.stalled': async () => {
      const { organizationId } = fixture.tenant;
      const startedAt = new Date(Date.now() - 3_600_000);
      const { id } = await makeJob(fixture.harness.db, {
        ...{ organizationId, status: 'running', startedAt, lastHeartbeatAt: new Date() },
      });
      const stalled = await waitForDelivery('job.stalled', hasResourceId(id));
      expect(stalled.event.data).toMatchObject({ status: 'running' });
      return stalled;
    },
    'batch.finished': async () => {
      const { workflowId, agentId } = fixture.ids;
      fixture.worker.answer = ({ jobId, kind }) => {
        if (kind === 'run') setImmediate(() => void fixture.reportJob(jobId!, 'completed').catch(() => undefined));
        return 202;
      };
      const body = { workflowId, agentIds: [agentId], rows: [{}, {}, {}] };
      const { batchId } = (await fixture.tenant.api.post('/api/jobs/batch', body)).body;
      const finished = await waitForDelivery('batch.finished', hasResourceId(batchId));
      expect(finished.event.data).toMatchObject({ total: 3, completed: 3, queued: 0, running: 0 });
      return finished;
    },
    'agent.online': async () => {
      const agentId = await createAgent({});
      await sendHandshake(agentId);
      return waitForDelivery('agent.online', hasResourceId(agentId));
    },
    'agent.offline': async () => {
      const agentId = await createAgent({});
      const bootId = newId();
      await sendHandshake(agentId, bootId);
      for (const _ of [1, 2, 3]) {
        await fixture.tenant.worker.post('/api/agent/heartbeat', { agentId, bootId, healthy: false });
      }
      return waitForDelivery('agent.offline', hasResourceId(agentId));
    },
    'agent.stopped': async () => {
      const agentId = await createAgent({ provider: 'http', providerConfig: plane.providerConfig });
      await sendHandshake(agentId);
      await fixture.admin.post(`/api/agent/${agentId}/action`, { action: 'stop' });
      return waitForDelivery('agent.stopped', hasResourceId(agentId));
    },
    'agent.wake_failed': async () => {
      const agentId = await createAgent({ provider: 'http', providerConfig: plane.providerConfig });
      await fixture.querySql(`UPDATE agent SET status = 'stopped' WHERE id = $1`, agentId);
      await fixture.admin.post(`/api/agent/${agentId}/action`, { action: 'start' });
      return waitForDelivery('agent.wake_failed', hasResourceId(agentId));
    },
    'schedule.skipped': async () => {
      const scheduleId = await createSchedule({ idempotencyWindowMinutes: 60 });
      for (const _ of [1, 2]) await fixture.tenant.api.post('/api/schedules/execute', { force: true, scheduleId });
      const skipped = await waitForDelivery('schedule.skipped', hasResourceId(scheduleId));
      expect(skipped.event.data).toMatchObject({ reason: 'idempotency_window', nominalAt: expect.any(String) });
      return skipped;
    },
    'schedule.failed': async () => {
      const { organizationId } = fixture.tenant;
      const { id: scriptId } = await makeWorkflow(fixture.harness.db, { organizationId });
      const scheduleId = await createSchedule({ scriptId, cronExpression: '* * * * *' });
      await fixture.querySql(`UPDATE workflow_revision SET variables = '{MORE}' WHERE workflow_id = $1`, scriptId);
      await fixture.querySql(`UPDATE schedule SET next_run_at = date_trunc('minute', now()) WHERE id = $1`, scheduleId);
      await fixture.tenant.api.post('/api/schedules/execute', {});
      const failed = await waitForDelivery('schedule.failed', hasResourceId(scheduleId));
      expect(failed.event.data).toMatchObject({ reason: 'invalid_payload', nominalAt: expect.any(String) });
      return failed;
    },
    'limit.near': async () => {
      const { receiver, near } = await causeLimitEvents();
      const [first] = await receiver.waitForDeliveries(near);
      expect(first!.event.data).toMatchObject({ limit: 'monthlyRunLimit', used: 4, max: 5 });
      return first!;
    },
    'limit.reached': async () => {
      const { receiver, reached, api, ids } = await causeLimitEvents();
      expect((await api.post('/api/jobs/launch', ids)).status).toBe(202);
      expect((await api.post('/api/jobs/launch', ids)).status).toBe(402);
      const [first, ...others] = await receiver.waitForDeliveries(reached);
      expect([first!.event.data, others]).toMatchObject([{ limit: 'monthlyRunLimit', used: 5, max: 5 }, []]);
      return first!;
    },
    'api_key.expiring': () =>
      fixture.createExpiringKey().then((id) => waitForDelivery('api_key.expiring', ({ apiKeyId }) => apiKeyId === id)),
    'pack.promoted': async () => {
      const { packId, versions } = await installPack();
      const { versionId } = versions[0]!;
      const answer = await fixture.admin.post(`/api/workflow-packs/${packId}/versions/${versionId}/promote`, {
        stage: 'deprecated',
      });
      expect(answer.status).toBe(200);
      const promoted = await waitForDelivery('pack.promoted', (data) => data.versionId === versionId);
      expect(promoted.event.data).toMatchObject(answer.body);
      return promoted;
    },
    'installation.pinned': async () => {
      const { installationId, versions } = await installPack();
      const pin = `/api/workflow-pack-installations/${installationId}/pin`;
      const answer = await fixture.admin.post(pin, { versionId: versions[1]!.versionId });
      const pinned = await waitForDelivery('installation.pinned', hasResourceId(installationId));
      expect(pinned.event.data).toMatchObject(answer.body);
      return pinned;
    },
    'autopilot.paused': async () => {
      browsers.look = () => ({ look: { asksFor: 'one_time_code' } });
      const { sessionId } = await startSession();
      const paused = await waitForDelivery('autopilot.paused', (data) => data.sessionId === sessionId);
      expect(paused.event.data).toMatchObject({ status: 'paused', pausedFor: { reason: 'one_time_code' } });
      return paused;
    },
    'autopilot.finished': async () => {
      browsers.look = () => ({ look: { asksFor: 'one_time_code' } });
      const { sessionId, act, until } = await startSession();
      await until(sessionId, 'paused');
      await act({ action: 'cancel', sessionId });
      const finished = await waitForDelivery('autopilot.finished', (data) => data.sessionId === sessionId);
      expect(finished.event.data).toMatchObject({ status: 'cancelled' });
      return finished;
    },
    'question.asked': async () => {
      const { questionId } = await askForCode();
      const delivery = await waitForDelivery('question.asked', hasResourceId(questionId));
      expect(delivery.event.data).toMatchObject({ status: 'open', question: 'Code from the phone' });
      return delivery;
    },
    'question.answered': async () => {
      const { questionId } = await askForCode();
      await fixture.tenant.api.post(`/api/questions/${questionId}/answer`, { answer: '482913' });
      const answered = await waitForDelivery('question.answered', hasResourceId(questionId));
      expect(answered.event.data).toMatchObject({ status: 'answered', answer: null });
      expect(JSON.stringify(answered.event)).not.toContain('482913');
      return answered;
    },
    'question.expired': async () =>
      waitForDelivery('question.expired', hasResourceId((await askForCode(1)).questionId)),
    'alert.opened': () => causeAlert('open'),
    'alert.resolved': () => causeAlert('resolved'),
    'feedback.resolved': async () => {
      const id = await fixture.submitFeedback('One more');
      await fixture.admin.patch(`/api/feedback-submissions/${id}`, { status: 'resolved' });
      const resolved = await waitForDelivery('feedback.resolved', hasResourceId(id));
      expect(resolved.event.data).toMatchObject({ status: 'resolved', title: 'One more' });
      return resolved;
    },
    'account.set_aside': () => fixture.reportFailedAccount(waitForDelivery),
    'user.break_glass': () => fixture.signInByBreakGlass(),
    'webhook.test': async () => {
      const answer = await fixture.admin.post(`/api/webhook-endpoints/${endpoint.id}/test`);
      expect(answer.status).toBe(202);
      return waitForDelivery('webhook.test', hasResourceId(endpoint.id));
    },
  };

  /** Creates another organization, which may launch five runs per month and has launched four. */
  async function causeLimitEvents() {
    const tenant: Tenant = await fixture.harness.makeTenant();
    const other = await WebhookFixture.createIn(fixture.harness, tenant);
    try {
      const [near, reached] = [fixture.generatePath(), fixture.generatePath()];
      for (const [at, type] of [
        [near, 'limit.near'],
        [reached, 'limit.reached'],
      ] as const) {
        const body = { url: fixture.receiver.url + at, events: [type] };
        expect((await tenant.as.admin.post('/api/webhook-endpoints', body)).status).toBe(201);
      }
      await tenant.as.admin.patch('/api/organization/settings', { monthlyRunLimit: 5 });
      for (let launched = 0; launched < 4; launched += 1) await tenant.api.post('/api/jobs/launch', other.ids);
      return { receiver: fixture.receiver, near, reached, api: tenant.api, ids: other.ids };
    } finally {
      await other.stopReceiver();
    }
  }

  function installPack() {
    return makeInstallation(fixture.harness.db, {
      organizationId: fixture.tenant.organizationId,
      contents: [newId(), newId()],
    });
  }

  it.each(webhookTypes)('the webhook event %s is delivered, signed, with a sequence', async (type) => {
    const received = await causes[type]();
    expect(received.event).toMatchObject({ type, data: { sequence: expect.any(Number) } });
    expect(received.headers['webhook-id']).toMatch(/^[0-9a-f-]{36}$/);
    if (received.path === path) verifySignature(endpoint.secret, received);
  });

  it('a webhook event has the state that its resource had at that time, even if the resource changes afterwards', async () => {
    browsers.look = () => ({ look: { asksFor: 'one_time_code' } });
    const release = await fixture.holdEvents();
    const jobId = await fixture.runJob('failed');
    const agentId = await createAgent({});
    const bootId = newId();
    await sendHandshake(agentId, bootId);
    for (const _ of [1, 2, 3]) {
      await fixture.tenant.worker.post('/api/agent/heartbeat', { agentId, bootId, healthy: false });
    }
    const scheduleId = await createSchedule({ idempotencyWindowMinutes: 60 });
    for (const _ of [1, 2]) await fixture.tenant.api.post('/api/schedules/execute', { force: true, scheduleId });
    await fixture.querySql(`UPDATE schedule SET last_result = 'launched' WHERE id = $1`, scheduleId);
    const { packId, installationId, versions } = await installPack();
    const [first, second] = [versions[0]!.versionId, versions[1]!.versionId];
    const pin = { versionId: second };
    await fixture.admin.post(`/api/workflow-pack-installations/${installationId}/pin`, pin);
    await fixture.admin.post(`/api/workflow-pack-installations/${installationId}/rollback`, {});
    for (const stage of ['deprecated', 'production']) {
      await fixture.admin.post(`/api/workflow-packs/${packId}/versions/${second}/promote`, { stage });
    }
    const { sessionId, act, until } = await startSession();
    await until(sessionId, 'paused');
    await act({ action: 'cancel', sessionId });
    await until(sessionId, 'cancelled');
    const submissionId = await fixture.submitFeedback('One more');
    for (const status of ['resolved', 'closed']) {
      await fixture.admin.patch(`/api/feedback-submissions/${submissionId}`, { status });
    }
    await release();
    // A question has sequence numbers of its own, so its events have no order among those of its session.
    const getResourceId = ({ type, data }: any): string =>
      (type.startsWith('question.') ? `question of ${data.sessionId}` : data.sessionId) ?? data.versionId ?? data.id;
    const listDeliveredStates = (id: string) =>
      fixture.receiver
        .listReceivedAt(path)
        .filter(({ event }) => getResourceId(event) === id)
        .map(({ event: { type, data } }) => [
          type,
          data.status ?? data.lastResult ?? data.stage ?? data.pinnedVersionId,
          data.sequence as number,
        ])
        .sort((a, b) => a[2] - b[2])
        .map(([type, state]) => [type, state]);
    const expected: Record<string, [WebhookType, string][]> = {
      [jobId]: [
        ['job.started', 'running'],
        ['job.failed', 'failed'],
      ],
      [agentId]: [
        ['agent.online', 'online'],
        ['agent.offline', 'offline'],
      ],
      [scheduleId]: [['schedule.skipped', 'skipped']],
      [installationId]: [
        ['installation.pinned', second],
        ['installation.pinned', first],
      ],
      [second]: [
        ['pack.promoted', 'deprecated'],
        ['pack.promoted', 'production'],
      ],
      [sessionId]: [
        ['autopilot.paused', 'paused'],
        ['autopilot.finished', 'cancelled'],
      ],
      [`question of ${sessionId}`]: [['question.asked', 'open']],
      [submissionId]: [['feedback.resolved', 'resolved']],
    };
    for (const [id, deliveries] of Object.entries(expected)) {
      await waitFor(deliveries[0]![0], () => listDeliveredStates(id).length >= deliveries.length);
      expect(listDeliveredStates(id)).toEqual(deliveries);
    }
  });
});
