import { makeAgent, makeWorkflow } from '@muster/testing';
import { SchedulesFixture } from './schedules.harness';

describe('executing schedules', () => {
  const fixture = new SchedulesFixture();

  beforeAll(() => fixture.openFixture());
  afterAll(() => fixture.harness.close());
  beforeEach(() => fixture.resetState());

  it('a due schedule launches a job with the schedule’s options, which the answer reports', async () => {
    const id = await fixture.createSchedule({
      vaultKeys: [],
      maxRuntimeMinutes: 30,
      maxRetries: 2,
      retryDelaySeconds: 90,
      concurrencyLimit: 1,
    });
    expect(await fixture.executeSchedules()).toEqual({
      dryRun: false,
      scanned: 0,
      launched: [],
      skipped: [],
      failed: [],
    });
    fixture.clock.set('2026-03-02T09:05:10.000Z');
    const answer = await fixture.executeSchedules();
    expect(answer).toEqual({
      dryRun: false,
      scanned: 1,
      launched: [{ scheduleId: id, jobId: expect.any(String), nominalAt: '2026-03-02T09:05:00.000Z' }],
      skipped: [],
      failed: [],
    });
    const { jobId } = answer.launched[0];
    expect((await fixture.tenant.api.get(`/api/jobs/${jobId}`)).body).toMatchObject({
      scheduleId: id,
      workflowId: fixture.scriptId,
      agentId: fixture.agentId,
      variables: { CLAIM_ID: 'C-1' },
      maxRetries: 2,
      retryDelayMs: 90_000,
      maxRuntimeMs: 1_800_000,
    });
    expect(await fixture.readSchedule(id)).toMatchObject({
      nextRunAt: '2026-03-02T09:10:00.000Z',
      lastRunAt: '2026-03-02T09:05:10.000Z',
      lastRunJobId: jobId,
      lastResult: 'launched',
      recentRuns: [
        {
          nominalAt: '2026-03-02T09:05:00.000Z',
          firedAt: '2026-03-02T09:05:10.000Z',
          outcome: 'launched',
          reason: null,
          detail: null,
          forced: false,
          jobId,
        },
      ],
    });
    expect(await fixture.executeSchedules()).toMatchObject({ scanned: 0 });
    fixture.clock.set('2026-03-02T09:10:10.000Z');
    expect(await fixture.executeSchedules()).toMatchObject({
      scanned: 1,
      launched: [],
      skipped: [{ reason: 'concurrency_limit' }],
    });
    expect((await fixture.readSchedule(id)).recentRuns).toMatchObject([
      { outcome: 'skipped', reason: 'concurrency_limit', jobId: null },
      { outcome: 'launched' },
    ]);
    expect(await fixture.readSchedule(id)).toMatchObject({ lastResult: 'skipped', lastRunJobId: jobId });
  });

  it('a dry run of schedules changes nothing', async () => {
    const id = await fixture.createSchedule();
    fixture.clock.set('2026-03-02T09:07:30.000Z');
    const readScheduleState = async () => [
      await fixture.queryRows('SELECT * FROM schedule WHERE id = $1', id),
      await fixture.queryRows('SELECT count(*) FROM schedule_run'),
      await fixture.queryRows('SELECT count(*) FROM job'),
      await fixture.queryRows('SELECT count(*) FROM audit_entry'),
      await fixture.queryRows('SELECT count(*) FROM outbox'),
    ];
    const before = await readScheduleState();
    const launched = [{ scheduleId: id, jobId: null, nominalAt: '2026-03-02T09:05:00.000Z' }];
    expect(await fixture.executeSchedules({ dryRun: true })).toMatchObject({ dryRun: true, scanned: 1, launched });
    expect(await fixture.executeSchedules({ dryRun: true, scheduleId: id })).toMatchObject({ launched });
    expect(await fixture.executeSchedules({ dryRun: true, force: true, scheduleId: id })).toMatchObject({
      dryRun: true,
      launched: [{ scheduleId: id, jobId: null }],
    });
    expect(await readScheduleState()).toEqual(before);
  });

  it('a forced schedule launches a job each time and keeps its timetable', async () => {
    const id = await fixture.createSchedule();
    const forced = await fixture.executeSchedules({ force: true, scheduleId: id });
    expect(forced).toMatchObject({ scanned: 1, launched: [{ scheduleId: id }], skipped: [] });
    await fixture.executeSchedules({ force: true, scheduleId: id });
    expect(await fixture.listJobs()).toHaveLength(2);
    const { nextRunAt, recentRuns } = await fixture.readSchedule(id);
    expect(nextRunAt).toBe('2026-03-02T09:05:00.000Z');
    expect(recentRuns).toMatchObject([{ forced: true }, { forced: true }]);
    const keyed = fixture.tenant.api.with({ 'idempotency-key': 'force-1' });
    await keyed.post('/api/schedules/execute', { force: true, scheduleId: id });
    const again = await keyed.post('/api/schedules/execute', { force: true, scheduleId: id });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(await fixture.listJobs()).toHaveLength(3);
  });

  it('schedules are executed only with a valid limit, by id if forced, and in the caller’s own organization', async () => {
    const answer = await fixture.tenant.api.post('/api/schedules/execute', { force: true });
    expect([answer.status, answer.body.errors[0].field]).toEqual([400, 'scheduleId']);
    expect((await fixture.tenant.api.post('/api/schedules/execute', { force: true, scheduleId: null })).status).toBe(
      400,
    );
    for (const limit of [0, 101, 1.5, '5']) {
      expect((await fixture.tenant.api.post('/api/schedules/execute', { limit })).status).toBe(400);
    }
    const other = await fixture.harness.makeTenant();
    const id = await fixture.createSchedule();
    for (const more of [{ force: true }, {}, { dryRun: true }, { dryRun: true, force: true }]) {
      expect((await other.api.post('/api/schedules/execute', { scheduleId: id, ...more })).status).toBe(404);
    }
  });

  it('a schedule that is not due or is disabled is skipped unless it is forced', async () => {
    const id = await fixture.createSchedule();
    expect(await fixture.executeSchedules({ scheduleId: id })).toMatchObject({
      scanned: 1,
      skipped: [{ reason: 'not_due' }],
    });
    await fixture.tenant.api.put(`/api/schedules/${id}`, { enabled: false });
    expect(await fixture.executeSchedules({ scheduleId: id })).toMatchObject({ skipped: [{ reason: 'disabled' }] });
    expect(await fixture.executeSchedules({ scheduleId: id, force: true })).toMatchObject({
      launched: [{ scheduleId: id }],
    });
  });

  it('due schedules are executed up to the limit, starting with those that have been due the longest', async () => {
    const first = await fixture.createSchedule({ cronExpression: '1 * * * *' });
    await fixture.createSchedule({ cronExpression: '2 * * * *' });
    fixture.clock.set('2026-03-02T09:03:10.000Z');
    expect(await fixture.executeSchedules({ limit: 1 })).toMatchObject({
      scanned: 1,
      skipped: [],
      launched: [{ scheduleId: first }],
    });
    expect(await fixture.executeSchedules({ limit: 100 })).toMatchObject({ scanned: 1 });
  });

  it('a schedule is skipped within its idempotency window, forced or not', async () => {
    const id = await fixture.createSchedule({ idempotencyWindowMinutes: 10 });
    await fixture.executeSchedules({ force: true, scheduleId: id });
    expect(await fixture.executeSchedules({ force: true, scheduleId: id })).toMatchObject({
      skipped: [{ reason: 'idempotency_window' }],
    });
    fixture.clock.set('2026-03-02T09:05:10.000Z');
    expect(await fixture.executeSchedules()).toMatchObject({ skipped: [{ reason: 'idempotency_window' }] });
    fixture.clock.set('2026-03-02T09:10:30.000Z');
    expect(await fixture.executeSchedules()).toMatchObject({ launched: [{ scheduleId: id }] });
  });

  it('a schedule is skipped if the billing gate is closed or a secret is missing', async () => {
    await fixture.tenant.as.admin.put('/api/vault/PORTAL', { value: 'hunter2' });
    const id = await fixture.createSchedule({ vaultKeys: ['PORTAL'] });
    await fixture.tenant.as.admin.delete('/api/vault/PORTAL');
    expect(await fixture.executeSchedules({ force: true, scheduleId: id })).toMatchObject({
      skipped: [{ reason: 'secret_missing' }],
    });
    await fixture.tenant.as.admin.put('/api/vault/PORTAL', { value: 'hunter2' });
    await fixture.updateSetting('monthly_run_limit = 0');
    expect(await fixture.executeSchedules({ force: true, scheduleId: id })).toMatchObject({
      skipped: [{ reason: 'billing_gate' }],
    });
    await fixture.updateSetting('monthly_run_limit = NULL');
    expect(await fixture.executeSchedules({ force: true, scheduleId: id })).toMatchObject({
      launched: [{ scheduleId: id }],
    });
    expect(JSON.stringify(await fixture.queryRows('SELECT * FROM schedule, job'))).not.toContain('hunter2');
    expect((await fixture.readSchedule(id)).recentRuns.map(({ reason }: any) => reason)).toEqual([
      null,
      'billing_gate',
      'secret_missing',
    ]);
  });

  it('a schedule wakes a stopped agent unless auto-wake is off, and always if it is forced', async () => {
    const asleep = (
      await makeAgent(fixture.harness.db, {
        organizationId: fixture.tenant.organizationId,
        name: 'Asleep',
        provider: 'local',
        status: 'stopped',
      })
    ).id;
    const id = await fixture.createSchedule({ agentId: asleep });
    await fixture.updateSetting('vm_auto_wake_on_job = false');
    fixture.clock.set('2026-03-02T09:05:10.000Z');
    expect(await fixture.executeSchedules()).toMatchObject({ skipped: [{ reason: 'agent_not_ready' }] });
    const readLifecycleEvents = () =>
      fixture.queryRows(
        `SELECT data->>'eventType' AS type, source FROM timeline_entry WHERE agent_id = $1 AND kind = 'lifecycle'
         ORDER BY seq`,
        asleep,
      );
    expect(await readLifecycleEvents()).toEqual([{ type: 'wake_blocked', source: 'schedule' }]);
    expect(await fixture.executeSchedules({ scheduleId: id, force: true })).toMatchObject({
      launched: [{ scheduleId: id }],
    });
    expect((await readLifecycleEvents()).map(({ type }: any) => type)).toEqual(['wake_blocked', 'wake_requested']);
    await fixture.queryRows(`UPDATE agent SET status = 'stopped' WHERE id = $1`, asleep);
    await fixture.updateSetting('vm_auto_wake_on_job = true');
    fixture.clock.set('2026-03-02T09:10:10.000Z');
    expect(await fixture.executeSchedules()).toMatchObject({ launched: [{ scheduleId: id }] });
    const gone = await fixture.createSchedule();
    await fixture.queryRows(
      `UPDATE agent SET status = 'offline', provider = 'external' WHERE id = $1`,
      fixture.agentId,
    );
    expect(await fixture.executeSchedules({ scheduleId: gone, force: true })).toMatchObject({
      skipped: [{ reason: 'agent_not_ready' }],
    });
  });

  it('a schedule whose launch is refused is recorded as failed without preventing the next schedule', async () => {
    const bad = await fixture.createSchedule();
    const good = await fixture.createSchedule({ name: 'good' });
    await fixture.queryRows(
      `UPDATE workflow_revision SET variables = '{CLAIM_ID,MORE}' WHERE workflow_id = $1`,
      fixture.scriptId,
    );
    const own = (await makeWorkflow(fixture.harness.db, { organizationId: fixture.tenant.organizationId })).id;
    await fixture.tenant.api.put(`/api/schedules/${good}`, { scriptId: own, variables: {} });
    fixture.clock.set('2026-03-02T09:05:10.000Z');
    expect(await fixture.executeSchedules()).toMatchObject({
      scanned: 2,
      launched: [{ scheduleId: good }],
      failed: [{ scheduleId: bad, reason: 'invalid_payload', detail: expect.stringContaining('MORE') }],
    });
    expect(await fixture.readSchedule(bad)).toMatchObject({
      lastResult: 'failed',
      nextRunAt: '2026-03-02T09:10:00.000Z',
      recentRuns: [{ outcome: 'failed', reason: 'invalid_payload' }],
    });
  });

  it('a schedule’s last job is set to null when that job is deleted', async () => {
    const id = await fixture.createSchedule();
    const { launched } = await fixture.executeSchedules({ force: true, scheduleId: id });
    const { jobId } = launched[0];
    await fixture.tenant.api.post(`/api/jobs/${jobId}/cancel`, {});
    expect((await fixture.tenant.as.member.delete(`/api/jobs/${jobId}`)).status).toBe(204);
    expect(await fixture.readSchedule(id)).toMatchObject({
      lastRunJobId: null,
      lastRunAt: expect.any(String),
      recentRuns: [{ outcome: 'launched', jobId: null }],
    });
  });
});
