import {
  FakeClock,
  FakeWorker,
  type Harness,
  HttpClient,
  makeAgent,
  makeApiKey,
  makeWorkflow,
  startHarness,
  type Tenant,
  waitFor,
} from '@muster/testing';
import { standalone } from './standalone';

const hourMs = 3_600_000;
const cronSecret = 'open sesame';

describe.each([
  ['ahead of', hourMs],
  ['behind', -hourMs],
])('a service whose clock is an hour %s the clock of the database', (_where, aheadMs) => {
  const clock = FakeClock.createClockAheadBy(aheadMs);
  let harness: Harness;
  let tenant: Tenant;
  let machine: HttpClient;
  let worker: FakeWorker;
  let ids: { agentId: string; workflowId: string };

  beforeAll(async () => {
    const loops = { STALE_JOBS_TICK_MS: '100', IDLE_MONITOR_TICK_MS: '100', SCHEDULE_TICK_MS: '100' };
    harness = await startHarness({
      ...standalone,
      clock,
      env: { OUTBOUND_ALLOW: '127.0.0.1', CRON_SECRET: cronSecret, ...loops },
    });
    tenant = await harness.makeTenant();
    const { organizationId } = tenant;
    worker = await FakeWorker.startForOrganization(organizationId);
    worker.now = () => clock.now();
    const { id: workflowId } = await makeWorkflow(harness.db, { organizationId });
    const { id: agentId } = await makeAgent(harness.db, { organizationId, status: 'offline' });
    const { secret } = await makeApiKey(harness.db, { organizationId, scope: 'worker', agentId });
    machine = new HttpClient(harness.url).withKey(secret);
    ids = { agentId, workflowId };
    const hello = { agentId, bootId: 'b', workerVersion: '1', tunnelHostname: worker.url };
    expect((await machine.post('/api/agents/handshake', hello)).status).toBe(200);
  });
  afterAll(async () => {
    await harness.close();
    await worker.stop();
  });

  const readAgent = async () => (await tenant.api.get(`/api/agents/${ids.agentId}`)).body;
  const readJob = async (id: string) => (await tenant.api.get(`/api/jobs/${id}`)).body;
  const reportJob = (jobId: string, body: object) => machine.post('/api/job-webhook', { jobId, ...body });
  const isCloseToNow = (time: string) => Math.abs(Date.parse(time) - clock.now().getTime()) < 60_000;

  async function launchJob(more: object = {}): Promise<string> {
    const launched = await tenant.api.post('/api/jobs/launch', { ...ids, ...more });
    expect(launched.status).toBe(202);
    const { jobId } = launched.body;
    await waitFor('the command', () => worker.received.some((command) => command.jobId === jobId));
    expect((await reportJob(jobId, { status: 'running' })).body).toMatchObject({ accepted: true });
    return jobId;
  }

  it('if service and database clocks differ, a run ends and gets its cost, with times of the service', async () => {
    const id = await launchJob();
    await machine.post('/api/job-logs', {
      logs: [{ jobId: id, level: 'info', message: 'seen', timestamp: Math.floor(clock.now().getTime() / 1000) }],
    });
    await reportJob(id, { status: 'completed' });
    const ended = await waitFor('the cost', async () => {
      const read = await readJob(id);
      return read.totalCostUsd !== null && read;
    });
    expect(ended).toMatchObject({ status: 'completed', error: null });
    expect([ended.queuedAt, ended.startedAt, ended.finishedAt].map(isCloseToNow)).toEqual([true, true, true]);
    expect(ended.durationMs).toBeLessThan(60_000);
    const from = new Date(clock.now().getTime() - 60_000).toISOString();
    const { entries } = (await tenant.api.get(`/api/agents/${ids.agentId}/logs?jobId=${id}&from=${from}`)).body;
    expect(entries.map(({ kind }: { kind: string }) => kind)).toEqual(expect.arrayContaining(['execution', 'job']));
  });

  it('if service and database clocks differ, no run is stale and no agent idle or silent too early', async () => {
    const id = await launchJob();
    const scanned = await harness.http.with({ 'x-cron-key': cronSecret }).post('/api/cron/stale-jobs');
    expect(scanned.body).toMatchObject({ failed: [] });
    expect(await readJob(id)).toMatchObject({ status: 'running' });
    const read = await readAgent();
    expect([read.status, isCloseToNow(read.lastSeen), isCloseToNow(read.lastActivityAt)]).toEqual([
      'online',
      true,
      true,
    ]);
    await reportJob(id, { status: 'completed' });
    await waitFor('the agent to be free', async () => (await readAgent()).currentJobId === null);
    // The agent's idle time starts when the run ends.
    const stopAt = Date.parse((await readAgent()).stopAt ?? clock.now().toISOString());
    expect(stopAt).toBeGreaterThanOrEqual(clock.now().getTime() - 60_000);
    expect((await readAgent()).status).toBe('online');
  });

  it('if service and database clocks differ, a failed run is retried after its delay but not before', async () => {
    const id = await launchJob({ maxRetries: 1, retryDelayMs: 600_000 });
    await reportJob(id, { status: 'failed', error: 'on purpose' });
    const retry = await waitFor('the retry', async () => {
      const { jobs } = (await tenant.api.get('/api/jobs?status=queued')).body;
      return jobs.find(({ retryOf }: { retryOf: string | null }) => retryOf === id);
    });
    expect(retry.waiting).toMatchObject({ reason: 'retry_delay' });
    expect(isCloseToNow(retry.waiting.since)).toBe(true);
    await tenant.api.post(`/api/jobs/${retry.id}/cancel`);
    const soon = await launchJob({ maxRetries: 1, retryDelayMs: 1 });
    await reportJob(soon, { status: 'failed', error: 'on purpose' });
    await waitFor('the retry to start', async () => {
      const { jobs } = (await tenant.api.get('/api/jobs')).body;
      const next = jobs.find(({ retryOf }: { retryOf: string | null }) => retryOf === soon);
      return next && worker.received.some(({ jobId }) => jobId === next.id);
    });
  });

  it('if service and database clocks differ, a command is delivered before its deadline', async () => {
    const { body } = await tenant.api.post(`/api/agents/${ids.agentId}/run-snippet`, { code: 'print(1)' });
    const { commandId } = body;
    const pushed = await waitFor('the push', () => worker.received.find((command) => command.commandId === commandId));
    expect(Date.parse(pushed.deadline)).toBeGreaterThan(clock.now().getTime());
    const result = `/api/agents/${ids.agentId}/commands/${commandId}/result`;
    expect((await machine.post(result, { status: 'success', output: '1\n' })).status).toBe(200);
    const status = await tenant.api.get(`/api/agents/${ids.agentId}/run-snippet/status?commandId=${commandId}`);
    expect(status.body).toMatchObject({ status: 'success', output: '1\n' });
  });

  it('if service and database clocks differ, a schedule fires at its time but not before', async () => {
    const schedule = { name: 'S', scriptId: ids.workflowId, agentId: ids.agentId, cronExpression: '0 0 1 1 *' };
    const created = await tenant.api.post('/api/schedules', schedule);
    expect(Date.parse(created.body.nextRunAt)).toBeGreaterThan(clock.now().getTime());
    const early = await tenant.api.post('/api/schedules/execute', { scheduleId: created.body.id });
    expect(early.body.skipped).toMatchObject([{ scheduleId: created.body.id, reason: 'not_due' }]);
    const minutely = { ...schedule, name: 'Each minute', cronExpression: '* * * * *' };
    const due = await tenant.api.post('/api/schedules', minutely);
    await harness.db.query(
      'system',
      `UPDATE schedule SET next_run_at = next_run_at - interval '1 minute' WHERE id = $1`,
      [due.body.id],
    );
    const last = await waitFor('a run of the schedule', async () => {
      const { recentRuns } = (await tenant.api.get(`/api/schedules/${due.body.id}`)).body;
      return recentRuns[0];
    });
    expect(last).toMatchObject({ outcome: 'launched' });
    expect(isCloseToNow(last.firedAt)).toBe(true);
  });
});
